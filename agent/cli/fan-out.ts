/** The same call to several nodes at once: one node's failure never hides another's answer. */
import { toFailure, worstExit, type ExitCode, type Failure } from './failure.ts'
import { toErrorData, type Output, type Place } from './output.ts'

export type Outcome<T> =
  | { readonly node: string; readonly kind: 'answer'; readonly value: T }
  | { readonly node: string; readonly kind: 'failure'; readonly failure: Failure; readonly address?: string }

type Callee = {
  readonly name: string
  /** Where it is dialled; told when the way there is what failed. */
  readonly address?: string
  readonly explain?: (error: unknown) => Promise<unknown>
}

/** Calls every node in parallel; returns the outcomes in the order of the nodes. Never rejects. */
export async function fanOut<N extends Callee, T>(
  nodes: readonly N[],
  call: (node: N) => Promise<T>,
): Promise<readonly Outcome<T>[]> {
  return Promise.all(
    nodes.map(async (node): Promise<Outcome<T>> => {
      try {
        return { node: node.name, kind: 'answer', value: await call(node) }
      } catch (error) {
        return {
          node: node.name,
          kind: 'failure',
          failure: toFailure((await node.explain?.(error)) ?? error),
          ...(node.address === undefined ? {} : { address: node.address }),
        }
      }
    }),
  )
}

export function answers<T>(outcomes: readonly Outcome<T>[]): readonly { node: string; value: T }[] {
  return outcomes.flatMap((outcome) =>
    outcome.kind === 'answer' ? [{ node: outcome.node, value: outcome.value }] : [],
  )
}

const UNREACHABLE: ExitCode = 5

/**
 * The failures. The same one on every node is told once and without a node, so that one cause reads as one line; but which node cannot be reached,
 * and where it was looked for, is always told. Pure.
 */
export function groupFailures(
  outcomes: readonly Outcome<unknown>[],
): readonly { readonly place: Place | undefined; readonly failure: Failure }[] {
  const failed = outcomes.flatMap((outcome) => (outcome.kind === 'failure' ? [outcome] : []))
  const [first] = failed
  if (first === undefined) return []
  const isSame = failed.every(({ failure }) => sameText(failure, first.failure))
  const isUnreachable = first.failure.exit === UNREACHABLE
  if (isSame && failed.length === outcomes.length && !isUnreachable) {
    return [{ place: undefined, failure: first.failure }]
  }
  return failed.map(({ node, address, failure }) => ({
    failure,
    place: { node, ...(failure.exit === UNREACHABLE && address !== undefined ? { address } : {}) },
  }))
}

/**
 * Prints what the nodes answered, then what failed. Returns the worst exit code. `text` gets the answers only; `data` is an array with one
 * object a node, failures included.
 */
export function report<T>(
  output: Output,
  outcomes: readonly Outcome<T>[],
  render: { text(answered: readonly { node: string; value: T }[]): string; data(value: T): object },
): ExitCode {
  const answered = answers(outcomes)
  const data = outcomes.map((outcome) =>
    outcome.kind === 'answer'
      ? { node: outcome.node, ...withoutNode(render.data(outcome.value)) }
      : { node: outcome.node, error: toErrorData(outcome.failure) },
  )
  if (answered.length > 0 || output.format !== 'table') output.result(data, () => render.text(answered))
  return reportFailures(output, outcomes)
}

/** Prints the failures alone. Returns the worst exit code. */
export function reportFailures(output: Output, outcomes: readonly Outcome<unknown>[]): ExitCode {
  for (const { place, failure } of groupFailures(outcomes)) output.failure(failure, place)
  return worstExit(outcomes.map((outcome) => (outcome.kind === 'failure' ? outcome.failure.exit : 0)))
}

// The name that the person used, not the one that an answer may carry.
function withoutNode(data: object): object {
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'node'))
}

function sameText(left: Failure, right: Failure): boolean {
  return left.code === right.code && left.message === right.message && left.hint === right.hint
}
