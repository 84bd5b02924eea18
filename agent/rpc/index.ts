/** gRPC as the agent speaks it: server methods, clients, identities and errors. */
export { addressOwner, plainAddress } from './address.ts'
export { connect, type CallOptions, type Client } from './client.ts'
export { type ClientOptions } from './line.ts'
export { type ClientTls } from './dial.ts'
export { startExposedServer, type ExposedServer, type ExposedServerOptions } from './exposed-server.ts'
export { identitiesOf, parseIdentity, type NodeIdentity } from './identity-file.ts'
export { LimitedLog } from './limited-log.ts'
export { type ConnectionLimits } from './tls-listener.ts'
export { fullBucket, takeToken, type Bucket, type BucketPolicy, type Taken } from './token-bucket.ts'
export { ROLES, toIdentity, type Identity, type Role } from './identity.ts'
export {
  implement,
  RAW,
  REQUEST_ID_HEADER,
  type CallChain,
  type CallContext,
  type CallOutcome,
  type Guard,
  type Handlers,
  type Implemented,
  type ImplementOptions,
  type MethodDefinition,
} from './method.ts'
export {
  fromServiceError,
  RpcFault,
  statusName,
  toWireStatus,
  wireStatus,
  type RpcCode,
  type WireStatus,
} from './status.ts'
