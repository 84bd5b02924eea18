import {
  ApplyMode,
  ConfigServiceService,
  ConfigVersion,
  FindingSeverity,
  type ApplyRequest,
  type ApplyResponse,
  type ConfigFinding,
} from '#api'
import { parseNodeConfiguration, redactText, type Finding } from '#config'
import { RpcFault, type Handlers } from '#rpc'
import { digestOfDocument } from '../boot/accept-user-data.ts'
import { ParseQueue } from '../config/parse-queue.ts'
import { planApply, type ApplyMode as PlanMode, type ApplyPlan } from '../config/apply.ts'
import { inWords } from '../machine/state.ts'
import type { Node } from '../node.ts'
import type { Operations } from '../operation.ts'
import { before, inForce, staged, type Version } from '../store/committed.ts'
import { operationCall, requireKnown, requireState, requireUp, type AgentContext } from './context.ts'

const MAX_DOCUMENT = 1024 * 1024
const TRY_DEFAULT_MS = 60_000
const TRY_MIN_MS = 5_000
const TRY_MAX_MS = 3_600_000

const MODES: Readonly<Record<ApplyMode, PlanMode>> = {
  [ApplyMode.UNSPECIFIED]: 'now',
  [ApplyMode.TRY]: 'try',
  [ApplyMode.STAGE]: 'stage',
}

export type ConfigOptions = { readonly node: Node; readonly operations: Operations }

export function configHandlers(options: ConfigOptions): Handlers<typeof ConfigServiceService, AgentContext> {
  const { node } = options
  // Whoever may only read must not keep an administrator from applying: each has a queue of its own.
  const queue = new ParseQueue(['apply', 'validate'])
  return {
    get: async (request) => {
      const version = select(node, request.version)
      return {
        document: redactText(version.document),
        revision: BigInt(version.revision),
        digest: version.digest,
        appliedAt: new Date(version.appliedAt),
        appliedBy: version.appliedBy,
      }
    },
    getSecrets: async (request) => {
      const version = select(node, request.version)
      return { document: version.document, revision: BigInt(version.revision) }
    },
    validate: async (request, { signal }) => {
      requireSize(request.document)
      const parse = () => parseNodeConfiguration(request.document, { file: 'document' })
      const parsed = await queue.run('validate', parse, { signal })
      return { findings: parsed.ok ? [] : parsed.error.map(toFinding) }
    },
    apply: (request, context) => queue.run('apply', () => apply(options, request, context), context),
  }
}

/** From the key to the durable commit there is no await: no other call can come between the check of the revision and the write. */
function apply(options: ConfigOptions, request: ApplyRequest, context: AgentContext): ApplyResponse {
  const { node, operations } = options
  requireKnown(request.mode, ApplyMode, 'mode')
  requireSize(request.document)
  requireState(node)
  const codec = ConfigServiceService.apply
  const call = operationCall(
    context,
    request.idempotencyKey,
    codec.requestSerialize({ ...request, idempotencyKey: '' }),
  )
  const known = operations.find(call)
  if (known !== undefined)
    return { ...codec.responseDeserialize(Buffer.from(known.answer, 'base64')), repeated: true }
  const plan = planApply(node.committed, node.active?.parsed, {
    document: request.document,
    expectedRevision: Number(request.expectedRevision),
    mode: MODES[request.mode],
    tryMs: tryLength(request),
    appliedBy: context.identity.commonName,
    digest: digestOfDocument(request.document),
    now: node.clock.now(),
  })
  if (request.dryRun) return toResponse(plan, '')
  requireUp(node)
  const id = operations.newId()
  const answer = toResponse(plan, id)
  operations.keep(id, call, { state: 'accepted', answer: codec.responseSerialize(answer).toString('base64') })
  try {
    node.commit(plan.next)
  } catch (error) {
    operations.drop(id)
    throw error
  }
  operations.finish(id)
  node.events.emit({
    code: `config.${{ now: 'applied', try: 'tried', stage: 'staged' }[MODES[request.mode]]}`,
    message: 'A configuration was accepted.',
    operationId: id,
    details: { revision: String(plan.revision), by: context.identity.commonName },
  })
  return answer
}

function toResponse(plan: ApplyPlan, operationId: string): ApplyResponse {
  return {
    revision: BigInt(plan.revision),
    diff: plan.diff,
    changes: plan.changes.map(({ path, effect }) => ({ path, effect })),
    findings: plan.warnings.map((one) => ({
      ...one,
      severity: FindingSeverity.WARNING,
      line: 0,
      column: 0,
      path: '',
    })),
    rebootRequired: plan.rebootRequired,
    tryUntil: plan.tryUntil,
    repeated: false,
    operationId,
  }
}

function tryLength(request: ApplyRequest): number {
  if (request.mode !== ApplyMode.TRY || request.tryTimeout === undefined) return TRY_DEFAULT_MS
  const ms = Number(request.tryTimeout.seconds) * 1_000 + request.tryTimeout.nanos / 1e6
  if (ms >= TRY_MIN_MS && ms <= TRY_MAX_MS) return ms
  throw new RpcFault('invalid_argument', 'try_timeout_out_of_range', 'a trial takes 5 seconds to 1 hour')
}

function requireSize(document: string): void {
  if (Buffer.byteLength(document) <= MAX_DOCUMENT) return
  throw new RpcFault('invalid_argument', 'document_too_large', 'a configuration has at most 1 MiB')
}

function select(node: Node, which: ConfigVersion): Version {
  requireKnown(which, ConfigVersion, 'version')
  const picked = {
    [ConfigVersion.UNSPECIFIED]: () => node.active?.version ?? inForce(node.committed),
    [ConfigVersion.STAGED]: () => staged(node.committed),
    [ConfigVersion.PREVIOUS]: () => before(node.committed),
  }[which]()
  if (picked !== undefined) return picked
  throw new RpcFault(
    'failed_precondition',
    'no_such_version',
    `there is no such configuration; the machine is ${inWords(node.state)}`,
  )
}

function toFinding(finding: Finding): ConfigFinding {
  return {
    severity: finding.severity === 'warning' ? FindingSeverity.WARNING : FindingSeverity.ERROR,
    code: finding.code,
    line: finding.line,
    column: finding.column,
    path: finding.path,
    message: finding.message,
    hint: finding.hint ?? '',
  }
}
