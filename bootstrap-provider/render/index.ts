export { caCertHashes } from './ca-cert-hash.ts'
export { renderAll, type RenderedMachine, type RenderOverrides } from './cluster.ts'
export { kubeadmApiVersion } from './kubeadm-version.ts'
export { parseManifests, type Cluster, type Machine, type Manifests, type SteleConfig } from './manifest.ts'
export {
  isControlPlaneMachine,
  renderUserData,
  type RenderedUserData,
  type RenderInput,
} from './user-data.ts'
