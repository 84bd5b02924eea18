import { V1BETA3, V1BETA4 } from '#config'

/**
 * The kubeadm API for a Kubernetes version: v1beta3 for 1.22 to 1.30, v1beta4 from 1.31 on; pre-releases count as their release. Undefined below
 * 1.22 and for text that is no version. (Cluster API, bootstrap/kubeadm/pkg/types/utils.go.)
 */
export function kubeadmApiVersion(version: string): typeof V1BETA3 | typeof V1BETA4 | undefined {
  const parts = /^v?(\d{1,6})\.(\d{1,6})\.\d{1,6}(?:[-+].*)?$/.exec(version)
  if (parts === null) return undefined
  const [major, minor] = [Number(parts[1]), Number(parts[2])]
  if (major !== 1) return major > 1 ? V1BETA4 : undefined
  if (minor < 22) return undefined
  return minor < 31 ? V1BETA3 : V1BETA4
}
