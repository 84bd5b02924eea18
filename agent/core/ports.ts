/**
 * What core needs of an operating system. `local/` implements it over a directory and init, `linux/` over systemd; nothing else in core touches
 * the host.
 */
import type { Change } from './change.ts'
import type { Loss, MachineState } from './machine/state.ts'
import type { FileSystem } from './store/file-system.ts'

export type ServiceStateName = 'starting' | 'running' | 'restarting' | 'stopped'

export type ServiceInfo = {
  readonly name: string
  readonly state: ServiceStateName
  /** 0 without a process. */
  readonly pid: number
  readonly since: Date
  readonly restarts: number
  readonly lastExit: string
}

type Waiting = { readonly signal: AbortSignal }

export type ServicePort = {
  /** Every service of the node, sorted by name. */
  list(options: Waiting): Promise<readonly ServiceInfo[]>
  /** Returns when the restart was asked for. */
  restart(name: string, options: Waiting): Promise<void>
  start(name: string, options: Waiting): Promise<void>
  stop(name: string, options: Waiting): Promise<void>
}

export type PowerPort = {
  /** Both return when the host has accepted to do it, or end by their signal when it takes core down first. */
  reboot(options: Waiting & { readonly forced: boolean }): Promise<void>
  shutdown(options: Waiting & { readonly forced: boolean }): Promise<void>
}

export type BootInfo = { readonly bootId: string; readonly bootedAt: Date }
export type BootPort = { current(options: Waiting): Promise<BootInfo> }

export type LogChunk = { readonly lines: Buffer; readonly dropped: number }
export type LogQuery = Waiting & {
  readonly follow: boolean
  /** 0 means all that is kept. */
  readonly tailLines: number
  readonly previousBoot: boolean
}
export type LogPort = {
  /** Names that may be asked for. */
  names(): readonly string[]
  /** Whole lines, pulled by the reader: a slow reader costs no memory. */
  read(name: string, query: LogQuery): AsyncIterable<LogChunk>
  readKernel(query: LogQuery): AsyncIterable<LogChunk>
}

/** What is not known is absent. */
export type ServiceUse = {
  readonly name: string
  readonly residentBytes: number | undefined
  readonly groupBytes: number | undefined
  readonly groupPeakBytes: number | undefined
  readonly processorMs: number | undefined
}
export type FileSystemUse = {
  readonly path: string
  readonly totalBytes: number
  readonly availableBytes: number
  readonly totalInodes: number
  readonly availableInodes: number
}
export type ResourceUse = {
  readonly memory: { readonly totalBytes: number; readonly availableBytes: number }
  readonly fileSystems: readonly FileSystemUse[]
  readonly services: readonly ServiceUse[]
  readonly bootPhases: readonly { readonly name: string; readonly ms: number }[]
}
export type ResourcePort = {
  /** Measures the machine and these services. */
  measure(services: readonly ServiceInfo[], options: Waiting): Promise<ResourceUse>
}

/** A part that could not be read, and why. */
export type Unreadable = { readonly part: IntegrityPart; readonly reason: string }
export type RootMount = {
  readonly path: string
  readonly type: string
  readonly source: string
  readonly fileSystemReadOnly: boolean
  readonly mountReadOnly: boolean
}
export type VerityRoot = {
  readonly name: string
  readonly algorithm: string
  readonly rootHash: string
  readonly intact: boolean
}
/** `error` is empty when what had to be refused succeeded. */
export type Probe = { readonly action: 'create' | 'remount'; readonly path: string; readonly error: string }
export type KernelProtection = {
  readonly lockdown: string
  readonly modulesSigned: boolean
  readonly secureBoot: boolean | undefined
}
export type ProgramInventory = {
  readonly executables: readonly string[]
  readonly scripts: readonly string[]
  readonly interpreters: readonly string[]
  readonly packageManagers: readonly string[]
  readonly setuid: readonly string[]
}
export type ConfinedProcess = {
  readonly unit: string
  readonly pid: number
  readonly uid: number
  readonly effective: readonly string[]
  readonly permitted: readonly string[]
  readonly bounding: readonly string[]
  readonly noNewPrivileges: boolean
  readonly systemCallsFiltered: boolean
}
export type ListeningSocket = {
  readonly protocol: string
  readonly address: string
  readonly port: number
  readonly unit: string
}
export type UnitExposure = { readonly unit: string; readonly tenths: number }
/** A part that could not be read is absent here and stands in `unknowns`. */
export type IntegrityReport = {
  readonly mounts?: readonly RootMount[]
  readonly verity?: VerityRoot
  readonly probes?: readonly Probe[]
  readonly kernel?: KernelProtection
  readonly programs?: ProgramInventory
  readonly processes?: readonly ConfinedProcess[]
  readonly sockets?: readonly ListeningSocket[]
  readonly exposures?: readonly UnitExposure[]
}
export type IntegrityPart = keyof IntegrityReport
export type IntegrityPort = {
  /** Measures what the node is now. Throws RpcFault `integrity_unsupported` where there is nothing verified to measure. */
  measure(options: Waiting): Promise<IntegrityReport & { readonly unknowns: readonly Unreadable[] }>
}

export type SourceContent =
  { readonly kind: 'absent' } | { readonly kind: 'data'; readonly bytes: Buffer; readonly file: string }
export type UserDataSource = {
  readonly kind: 'file' | 'nocloud' | 'http'
  /** Free of credentials and query. */
  readonly location: string
  /** Throws CoreFault `source_unreachable` or `source_invalid`. */
  read(options: Waiting): Promise<SourceContent>
}

export type HostSettings = { readonly hostname: string; readonly sysctls: Readonly<Record<string, string>> }
export type HostFile = { readonly path: string; readonly content: Buffer; readonly mode: number }
export type HostPort = {
  /** Both are repeatable: a second run with the same values changes nothing. `writeFiles` throws CoreFault `file_refused`. */
  applySettings(settings: HostSettings): void
  writeFiles(files: readonly HostFile[]): void
}

export type Ports = {
  readonly platform: string
  readonly services: ServicePort
  readonly power: PowerPort
  readonly boot: BootPort
  readonly resources: ResourcePort
  readonly integrity: IntegrityPort
  readonly logs: LogPort
  readonly host: HostPort
  readonly userData: readonly UserDataSource[]
}

/** Something that a person should know, and what to do about it; free of values of the configuration. */
export type Finding = { readonly message: string; readonly remedy: string }
/** What of STATE the platform found to be gone or doubtful, and why, for people. */
export type PlatformLoss = { readonly code: Exclude<Loss, 'configuration_lost'>; readonly reason: string }

/** Of the node, what a platform may look at and say. */
export type WatchedNode = {
  readonly name: string
  /** Undefined while no configuration was understood. */
  readonly view: { readonly role: string } | undefined
  readonly machine: { readonly addresses: readonly string[] }
  readonly state: MachineState
  readonly findings: ReadonlyMap<string, Finding>
  readonly change: Change
  setFinding(code: string, finding: Finding | undefined): void
}

/** Where core runs: the ports, and what differs around them. */
export type Platform = {
  readonly ports: Ports
  readonly paths: {
    readonly state: string
    readonly coreGatewaySocket: string
    readonly coreTrustSocket: string
    readonly gatewayIdentity: string
    readonly trustIdentity: string
  }
  /**
   * What the machine is called and reached at, unless its configuration says otherwise. The addresses may change while core runs. `id` is that of
   * machine-id(5); undefined where the machine is not the node's own.
   */
  readonly machine: {
    readonly name: string
    readonly addresses: readonly string[]
    readonly id?: string | undefined
  }
  /** Set where STATE is not there, so that memory stands in its place, or may be another machine's. */
  readonly loss: PlatformLoss | undefined
  /** Writes what gateway and trust read, so that they can. */
  readonly sharedFiles: FileSystem
  /** Called when both sockets are bound. */
  shareSockets(): void
  /** Looks after the host until the signal aborts. */
  watch(node: WatchedNode, options: Waiting): Promise<void>
}
