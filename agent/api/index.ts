/** The agent's API: the contract between core, gateway, trust and every client. All of it is generated from `proto/`. */
import { ConfigServiceService } from './gen/stele/agent/v1/config.ts'
import { CredentialServiceService } from './gen/stele/agent/v1/credential.ts'
import { EventServiceService } from './gen/stele/agent/v1/event.ts'
import { IntegrityServiceService } from './gen/stele/agent/v1/integrity.ts'
import { LogServiceService } from './gen/stele/agent/v1/log.ts'
import { ResourceServiceService } from './gen/stele/agent/v1/resource.ts'
import { ServiceServiceService } from './gen/stele/agent/v1/service.ts'
import { SystemServiceService } from './gen/stele/agent/v1/system.ts'
import { TrustServiceService } from './gen/stele/agent/v1/trust.ts'

export const API_PACKAGE = 'stele.agent.v1'

/** Services that the gateway serves to clients with a certificate, by the name that clients use. */
export const agentServices = {
  system: SystemServiceService,
  config: ConfigServiceService,
  service: ServiceServiceService,
  resource: ResourceServiceService,
  integrity: IntegrityServiceService,
  log: LogServiceService,
  event: EventServiceService,
  credential: CredentialServiceService,
} as const

/** Services that trust serves to nodes without a certificate. */
export const trustServices = { trust: TrustServiceService } as const

export {
  ConfigServiceService,
  CredentialServiceService,
  EventServiceService,
  IntegrityServiceService,
  LogServiceService,
  ResourceServiceService,
  ServiceServiceService,
  SystemServiceService,
  TrustServiceService,
}
export {
  ApplyMode,
  ConfigVersion,
  FindingSeverity,
  type ApplyRequest,
  type ApplyResponse,
  type ConfigChange,
  type ConfigFinding,
  type ConfigServiceGetRequest,
  type ConfigServiceGetResponse,
  type GetSecretsRequest,
  type GetSecretsResponse,
  type ValidateRequest,
  type ValidateResponse,
} from './gen/stele/agent/v1/config.ts'
export {
  type CreateJoinCredentialRequest,
  type CreateJoinCredentialResponse,
  type DenyCertificateRequest,
  type DenyCertificateResponse,
  type Enrolment,
  type ForgetEnrolmentRequest,
  type ForgetEnrolmentResponse,
  type JoinCredential,
  type ListEnrolmentsRequest,
  type ListEnrolmentsResponse,
  type ListJoinCredentialsRequest,
  type ListJoinCredentialsResponse,
  type RevokeJoinCredentialRequest,
  type RevokeJoinCredentialResponse,
} from './gen/stele/agent/v1/credential.ts'
export {
  type Event,
  type EventServiceWatchRequest,
  type EventServiceWatchResponse,
} from './gen/stele/agent/v1/event.ts'
export {
  type KernelLogRequest,
  type KernelLogResponse,
  type LogsRequest,
  type LogsResponse,
} from './gen/stele/agent/v1/log.ts'
export {
  type ConfinedProcess,
  type GetIntegrityRequest,
  type GetIntegrityResponse,
  type KernelProtection,
  type ListeningSocket,
  type Probe,
  type ProgramInventory,
  type RootMount,
  type UnitExposure,
  type UnknownPart,
  type VerityRoot,
} from './gen/stele/agent/v1/integrity.ts'
export {
  type BootPhase,
  type FileSystemUse,
  type Memory,
  type ResourceServiceGetRequest,
  type ResourceServiceGetResponse,
  type ServiceUse,
} from './gen/stele/agent/v1/resource.ts'
export {
  ServiceState,
  type RestartRequest,
  type RestartResponse,
  type Service,
  type ServiceServiceGetRequest,
  type ServiceServiceGetResponse,
  type ServiceServiceListRequest,
  type ServiceServiceListResponse,
} from './gen/stele/agent/v1/service.ts'
export {
  MachineState,
  NodeRole,
  RebootMode,
  type BootSource,
  type GetBootSourceRequest,
  type GetBootSourceResponse,
  type GetStatusRequest,
  type GetStatusResponse,
  type NodeStatus,
  type RebootRequest,
  type RebootResponse,
  type ShutdownRequest,
  type ShutdownResponse,
  type StatusFinding,
  type VersionRequest,
  type VersionResponse,
  type WatchStatusRequest,
  type WatchStatusResponse,
  type WhoAmIRequest,
  type WhoAmIResponse,
} from './gen/stele/agent/v1/system.ts'
export {
  type RenewRequest,
  type RenewResponse,
  type SignRequest,
  type SignResponse,
} from './gen/stele/agent/v1/trust.ts'
