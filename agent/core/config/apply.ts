/**
 * What applying a document would do, from what is committed: the whole decision of ConfigService.Apply, pure.
 *
 * Invariant: nothing here holds a secret but `next`; diff, changes and findings are safe to send.
 */
import { createTwoFilesPatch } from 'diff'
import {
  changesBetween,
  formatFinding,
  parseNodeConfiguration,
  redactText,
  type Finding,
  type NodeConfiguration,
} from '#config'
import { RpcFault } from '#rpc'
import { commit, inForce, stage, staged, tryOut, type Committed, type Version } from '../store/committed.ts'

export type ApplyMode = 'now' | 'try' | 'stage'

export type ApplyRequest = {
  readonly document: string
  readonly expectedRevision: number
  readonly mode: ApplyMode
  readonly tryMs: number
  readonly appliedBy: string
  readonly digest: string
  readonly now: Date
}

export type ApplyPlan = {
  readonly next: Committed
  readonly revision: number
  readonly diff: string
  readonly changes: readonly { readonly path: string; readonly effect: string }[]
  readonly rebootRequired: boolean
  readonly tryUntil: Date | undefined
  readonly warnings: readonly { readonly code: string; readonly message: string; readonly hint: string }[]
}

/** Most problems that an error message lists; the rest is counted. */
const LISTED = 20

/**
 * Returns the plan. Throws RpcFault `config_invalid` (every problem in the message, without values), `revision_conflict`, or
 * `config_immutable` when a change needs a new node.
 */
export function planApply(
  committed: Committed,
  current: NodeConfiguration | undefined,
  request: ApplyRequest,
): ApplyPlan {
  const parsed = parseNodeConfiguration(request.document, { file: 'document' })
  if (!parsed.ok) throw invalid(parsed.error)
  const present = inForce(committed)
  checkRevision(present, request.expectedRevision)
  const changes = allowedChanges(current, parsed.value)
  const next = nextOf(committed, request)
  const revision = (staged(next) ?? inForce(next))?.revision ?? 0
  const rebootRequired = request.mode === 'stage' || changes.some((change) => change.effect === 'reboot')
  return {
    next,
    revision,
    diff: diffOf(present, request.document, revision),
    changes,
    rebootRequired,
    tryUntil: next.kind === 'trial' ? new Date(next.until) : undefined,
    warnings: request.mode === 'try' && rebootRequired ? [TRY_WITHOUT_EFFECT] : [],
  }
}

function allowedChanges(
  current: NodeConfiguration | undefined,
  next: NodeConfiguration,
): ApplyPlan['changes'] {
  const changes = current === undefined ? [] : changesBetween(current, next)
  const immutable = changes.filter((change) => change.effect === 'immutable').map((change) => change.path)
  if (immutable.length === 0) return changes
  const message = `this cannot be changed on a running node: ${immutable.join(', ')}`
  throw new RpcFault('failed_precondition', 'config_immutable', message, {
    hint: 'make a new machine with this configuration',
  })
}

const TRY_WITHOUT_EFFECT = {
  code: 'try_without_effect',
  message: 'some of the changes take effect at a reboot, which ends the trial',
  hint: 'stage the configuration instead',
}

function nextOf(committed: Committed, request: ApplyRequest): Committed {
  const { document, digest, appliedBy, now } = request
  const draft = { document, digest, appliedBy, appliedAt: now.toISOString() }
  switch (request.mode) {
    case 'now':
      return commit(committed, draft)
    case 'stage':
      return stage(committed, draft)
    case 'try':
      return tryOut(committed, draft, new Date(now.getTime() + request.tryMs))
  }
}

function checkRevision(present: Version | undefined, expected: number): void {
  const revision = present?.revision ?? 0
  if (revision === expected) return
  throw new RpcFault(
    'aborted',
    'revision_conflict',
    `revision ${revision} is in force, and not ${expected}`,
    {
      hint: 'read the configuration again, and apply the change to what is there now',
    },
  )
}

/** Returns the refusal of a document: every problem with its position, and no value of the document. */
export function invalid(findings: readonly Finding[]): RpcFault {
  const lines = findings.slice(0, LISTED).map(formatFinding)
  const more = findings.length > LISTED ? [`and ${findings.length - LISTED} more`] : []
  return new RpcFault(
    'invalid_argument',
    'config_invalid',
    ['the configuration is not valid', ...lines, ...more].join('\n'),
    {
      hint: 'stelectl validate FILE lists every problem',
    },
  )
}

function diffOf(present: Version | undefined, document: string, revision: number): string {
  const old = present === undefined ? '' : redactText(present.document)
  return createTwoFilesPatch(
    `revision ${present?.revision ?? 0}`,
    `revision ${revision}`,
    old,
    redactText(document),
    '',
    '',
    {
      context: 3,
    },
  )
}
