/**
 * The node as core knows it: the one place of mutable state, observed by `machine/decide` and by every RPC.
 *
 * Invariants: what is on STATE is written before what is in memory changes; every change notifies `change`; a finding, reason or event never
 * holds a value of the configuration.
 */
import { parseNodeConfiguration, type NodeConfiguration } from '#config'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import { Change } from './change.ts'
import type { EventLog } from './event-log.ts'
import type { HeldIdentity } from './identity/held.ts'
import { inWords, mayEnter, type Loss, type MachineState, type StepName } from './machine/state.ts'
import { viewOf, type NodeView } from './node-view.ts'
import type { BootInfo, Finding, Ports } from './ports.ts'
import { before, inForce, type Committed, type Version } from './store/committed.ts'
import type { JsonFile } from './store/json-file.ts'
import type { SourceRecord } from './user-data.ts'

export type Machine = {
  readonly name: string
  readonly addresses: readonly string[]
  readonly id?: string | undefined
}
export type ActiveConfiguration = {
  readonly version: Version
  readonly parsed: NodeConfiguration
  readonly view: NodeView
}

export type NodeOptions = {
  readonly machine: Machine
  readonly boot: BootInfo
  readonly ports: Ports
  readonly clock: Clock
  readonly log: Log
  readonly events: EventLog
  readonly configuration: JsonFile<Committed>
  readonly committed: Committed
  readonly loss?: Loss | undefined
  /** Why, where more is known than the code says. */
  readonly lossReason?: string
}

export class Node {
  readonly machine: Machine
  readonly boot: BootInfo
  readonly ports: Ports
  readonly clock: Clock
  readonly log: Log
  readonly events: EventLog
  readonly change = new Change()
  readonly lossReason: string | undefined
  readonly #file: JsonFile<Committed>
  readonly #findings = new Map<string, Finding>()
  #state: MachineState = { kind: 'booting', step: undefined }
  #committed: Committed
  #active: ActiveConfiguration | undefined
  #loss: Loss | undefined
  #partial: NodeView | undefined
  #identity: HeldIdentity | undefined
  #sources: readonly SourceRecord[] = []
  /** Milliseconds since the epoch: when the next reading of user data and the next asking for an identity are due. */
  userDataDueAt = 0
  identityRetryAt = 0
  hostRevision: number | undefined
  publishedSerial: string | undefined
  trustStarted = false

  constructor(options: NodeOptions) {
    this.machine = options.machine
    this.boot = options.boot
    this.ports = options.ports
    this.clock = options.clock
    this.log = options.log
    this.events = options.events
    this.#file = options.configuration
    this.#committed = options.committed
    this.#loss = options.loss
    this.lossReason = options.lossReason
    this.#adopt()
  }

  get state(): MachineState {
    return this.#state
  }
  get committed(): Committed {
    return this.#committed
  }
  /** What of STATE is gone; a new configuration ends it, unless all of STATE is. */
  get loss(): Loss | undefined {
    return this.#loss
  }
  get active(): ActiveConfiguration | undefined {
    return this.#active
  }
  /** What is known of the node: from its configuration, or in quarantine from the part of the user data that is valid. */
  get view(): NodeView | undefined {
    return this.#active?.view ?? this.#partial
  }
  get partial(): NodeView | undefined {
    return this.#partial
  }
  get identity(): HeldIdentity | undefined {
    return this.#identity
  }
  get sources(): readonly SourceRecord[] {
    return this.#sources
  }
  get findings(): ReadonlyMap<string, Finding> {
    return this.#findings
  }
  get name(): string {
    return this.view?.name ?? this.#identity?.commonName ?? this.machine.name
  }

  /** Authorities whose client certificates are accepted, in PEM; empty before the node knows any, and then nobody gets in. */
  get authorities(): readonly string[] {
    return [...new Set([...(this.view?.authorities ?? []), ...(this.#identity?.stored.authorities ?? [])])]
  }

  /** Moves the machine; returns false, and changes nothing, when it may not go there. */
  enter(state: MachineState, operationId = ''): boolean {
    const from = this.#state
    if (!mayEnter(from, state)) return false
    this.#state = state
    if (from.kind !== state.kind) {
      this.log.info('machine state', { from: from.kind, to: state.kind })
      this.events.emit({
        code: 'machine.state',
        message: `The machine is ${inWords(state)}.`,
        operationId,
        details: { from: from.kind, to: state.kind },
      })
    }
    this.change.notify()
    return true
  }

  /** Tells which step of the boot sequence runs. Nothing is notified when nothing changed, or a waiting machine would wake itself for ever. */
  setStep(step: StepName | undefined): void {
    if (this.#state.kind !== 'booting' || this.#state.step === step) return
    this.enter({ kind: 'booting', step })
  }

  /** Makes `next` the committed configuration, durably, and works with it from now on. */
  commit(next: Committed): void {
    this.#file.write(next)
    this.#committed = next
    if (this.#loss === 'configuration_lost') this.#loss = undefined
    this.#adopt()
    this.userDataDueAt = 0
    this.identityRetryAt = 0
    this.change.notify()
  }

  setPartial(view: NodeView | undefined): void {
    this.#partial = view
    this.change.notify()
  }

  setIdentity(identity: HeldIdentity | undefined): void {
    this.#identity = identity
    this.change.notify()
  }

  setSources(sources: readonly SourceRecord[]): void {
    this.#sources = sources
    this.change.notify()
  }

  setFinding(code: string, finding: Finding | undefined): void {
    if (finding === undefined) {
      if (this.#findings.delete(code)) this.change.notify()
      return
    }
    const known = this.#findings.get(code)
    if (known?.message === finding.message) return
    this.#findings.set(code, finding)
    this.log.warn('finding', { code, finding: finding.message })
    this.change.notify()
  }

  /** Parses what is in force. A saved document that this version cannot read falls back to the one before it, and says so. */
  #adopt(): void {
    this.#active = undefined
    for (const version of [inForce(this.#committed), before(this.#committed)]) {
      if (version === undefined || this.#active !== undefined) continue
      const parsed = parseNodeConfiguration(version.document, { file: `revision ${version.revision}` })
      if (parsed.ok)
        this.#active = { version, parsed: parsed.value, view: viewOf(parsed.value, this.machine) }
    }
    const wanted = inForce(this.#committed)
    const usable = wanted === undefined || this.#active?.version === wanted
    this.setFinding(
      'configuration_unreadable',
      usable
        ? undefined
        : {
            message: 'the saved configuration cannot be read by this version',
            remedy: 'apply a corrected configuration',
          },
    )
    if (this.#active !== undefined) this.#partial = undefined
  }
}
