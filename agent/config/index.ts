export { changesBetween, type Change } from './change.ts'
export { checkDocument, valueAt } from './document/check.ts'
export { fields, issueOf, mapOf, pattern, text, textMap } from './document/field.ts'
export { printYaml } from './document/print.ts'
export { readDocuments, type Position, type SourceDocument, type SourceFile } from './document/read.ts'
export { ConfigFault, type ConfigFaultCode } from './fault.ts'
export { formatFinding, formatPath, sortFindings, type Finding, type Path, type Problem } from './finding.ts'
export { toV1beta3, type KubeadmV1beta4Document } from './kubeadm/convert.ts'
export {
  type ClusterConfiguration,
  type InitConfiguration,
  type JoinConfiguration,
  type KubeadmDocument,
  type KubeletConfiguration,
  type KubeProxyConfiguration,
} from './kubeadm/document.ts'
export { isCidr } from './kubeadm/form.ts'
export {
  clusterFields as kubeadmClusterFields,
  initFields as kubeadmInitFields,
  joinFields as kubeadmJoinFields,
  V1BETA4,
} from './kubeadm/v1beta4.ts'
export { V1BETA3 } from './kubeadm/v1beta3.ts'
export { parseNodeConfiguration, type NodeConfiguration } from './node-configuration.ts'
export { printDocuments } from './print-documents.ts'
export { redact, redactText } from './redact.ts'
export {
  decodeUserData,
  USER_DATA_CAPS,
  type DecodedUserData,
  type UserDataCaps,
} from './user-data/decode.ts'
export { UserDataFault, type UserDataCode } from './user-data/fault.ts'
export { type NodeConfig } from './v1alpha1/defaults.ts'
export { effectOf, effects, type Effect } from './v1alpha1/effect.ts'
export { ALLOWED_FOLDERS, decodeContent } from './v1alpha1/file.ts'
export { nodeConfigJsonSchema } from './v1alpha1/json-schema.ts'
export {
  NODE_CONFIG_API,
  nodeConfigFields,
  nodeFiles,
  TRUST_PORT,
  type NodeConfigDocument,
  type NodeFile,
} from './v1alpha1/schema.ts'
