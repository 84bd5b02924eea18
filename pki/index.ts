/** The PKI of Stele: keys, requests, profiles, issuing, join credentials. A library without I/O, clock or logger of its own; see README.md. */
export {
  createAuthority,
  loadAuthority,
  openAuthority,
  type Authority,
  type AuthorityBundle,
} from './authority.ts'
export { createClusterSecrets, parseClusterSecrets, type ClusterSecrets } from './bundle.ts'
export { createCsr, parseCsr, type CsrInput, type ParsedCsr } from './csr.ts'
export { faultCodes, PkiFault, type PkiFaultCode } from './fault.ts'
export {
  issueAdminCertificate,
  issueCertificate,
  type IssuedCertificate,
  type IssuedPair,
  type IssueInput,
} from './issue.ts'
export {
  checkJoinCredential,
  hashJoinPassword,
  mintJoinCredential,
  verifyJoinPassword,
  type JoinCredentialRecord,
  type JoinCredentialState,
} from './join-credential.ts'
export {
  certificateFingerprint,
  checkPublicKey,
  generateKey,
  loadPrivateKey,
  spkiFingerprintOfCertificate,
  spkiFingerprintOfKey,
  type KeyAlgorithm,
  type KeyPair,
} from './key.ts'
export {
  describeAddress,
  parseDnsName,
  parseIpAddress,
  parseNodeName,
  type AddressKind,
  type DnsName,
  type IpAddress,
  type NodeName,
} from './name.ts'
export { checkNodeRequest, type NodeGrant, type NodeRequestPolicy } from './node-request.ts'
export { encodePem, parsePem, splitCertificates, type PemLabel, type PemLimits } from './pem.ts'
export {
  clientRoles,
  isClientRole,
  profiles,
  type ClientRole,
  type Profile,
  type ProfileName,
} from './profile.ts'
export { renewalTime } from './renewal.ts'
export type { Result } from './result.ts'
export {
  signRenewal,
  verifyClientCertificate,
  verifyNodeCertificate,
  verifyRenewal,
  type VerifiedClient,
  type VerifiedNode,
  type VerifyOptions,
} from './verify.ts'
