/**
 * Any error → what the person is told and how the process exits. Pure; `output.ts` prints it.
 *
 * Invariants: a stack is never part of it; an exit code once given to a class of failures stays with it.
 */
import { Fault } from '#kit/fault'
import { CliFault } from './fault.ts'

export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 130

/** What each exit code means: shown by `--help` and in the README. */
export const EXIT_CODES: readonly (readonly [ExitCode, string])[] = [
  [0, 'ok'],
  [1, 'failed'],
  [2, 'wrong usage, or refused before any node was asked to act'],
  [3, 'unauthenticated: a certificate was refused'],
  [4, 'permission denied'],
  [5, 'unreachable, or a deadline passed'],
  [6, 'invalid document'],
  [7, 'conflict: somebody else was faster'],
  [8, 'a node is not what its image says'],
  [130, 'interrupted'],
]

export type Failure = {
  /** Stable code for machines, as in `certificate_refused`. */
  readonly code: string
  /** What the line for people begins with, as in `PERMISSION_DENIED`. */
  readonly status: string
  readonly message: string
  readonly hint?: string
  /** Leads to the line in the node's log. */
  readonly incident?: string
  readonly exit: ExitCode
}

/** Codes whose exit differs from the one of their gRPC status, or that come from no node. */
const EXIT_BY_CODE: Readonly<Record<string, ExitCode>> = {
  usage: 2,
  context_file_missing: 2,
  context_file_invalid: 2,
  context_file_permissions: 2,
  context_unknown: 2,
  context_missing: 2,
  context_exists: 2,
  node_unknown: 2,
  nodes_unnamed: 2,
  not_confirmed: 2,
  no_control_plane: 2,
  file_unreadable: 2,
  file_exists: 2,
  file_too_large: 2,
  file_unwritable: 1,
  invalid_document: 6,
  secrets_invalid: 6,
  config_invalid: 6,
  machine_unknown: 2,
  image_missing: 2,
  image_invalid: 2,
  programs_missing: 2,
  cluster_unknown: 2,
  cluster_damaged: 2,
  cluster_differs: 2,
  cluster_busy: 7,
  folder_foreign: 2,
  failed: 1,
  unreachable: 5,
  wait_deadline: 5,
  node_unreachable: 5,
  revision_conflict: 7,
  interrupted: 130,
  pipe_closed: 0,
  endpoint_invalid: 2,
  endpoint_ambiguous: 2,
}

const EXIT_BY_STATUS: Readonly<Record<string, ExitCode>> = {
  unauthenticated: 3,
  permission_denied: 4,
  unavailable: 5,
  deadline_exceeded: 5,
  aborted: 7,
  already_exists: 7,
  cancelled: 130,
}

/** The exit of a code and, where it came from a node, its gRPC status; 1 for what no table names. */
export function exitOf(code: string, status?: string): ExitCode {
  const known = EXIT_BY_CODE[code]
  if (known !== undefined) return known
  if (code.startsWith('certificate_')) return 3
  return EXIT_BY_STATUS[status ?? ''] ?? 1
}

/** The worst of several: the person's own stop first, then the highest number. */
export function worstExit(codes: readonly ExitCode[]): ExitCode {
  return codes.reduce<ExitCode>((worst, code) => (code > worst ? code : worst), 0)
}

/** Returns what to tell about any thrown value. Never throws. */
export function toFailure(error: unknown): Failure {
  if (isFault(error)) return ofFault(error)
  if (!(error instanceof Error)) return unexpected('an unknown failure')
  const code = stringField(error, 'code')
  if (code === undefined) return unexpected(error.message)
  if (stringField(error, 'syscall') !== undefined) {
    return { code: 'system_error', status: code, message: systemSentence(code, error), exit: 1 }
  }
  return named(code, error)
}

/** True for a failure of the way to the node, which the same call may survive a moment later. */
export function isTransient(error: unknown): boolean {
  return (
    isFault(error) && stringField(error, 'status') === 'unavailable' && !error.code.startsWith('certificate_')
  )
}

function isFault(error: unknown): error is Fault<string> {
  return error instanceof Fault
}

function ofFault(error: Fault<string>): Failure {
  const status = stringField(error, 'status')
  if (status === undefined) return named(error.code, error)
  const incident = stringField(error, 'incident')
  return {
    ...named(error.code, error),
    status: status.toUpperCase(),
    exit: exitOf(error.code, status),
    ...(incident === undefined ? {} : { incident }),
  }
}

function named(code: string, error: Error): Failure {
  const hint = stringField(error, 'hint')
  return {
    code,
    status: code.toUpperCase(),
    message: error.message,
    exit: exitOf(code),
    ...(hint === undefined ? {} : { hint }),
  }
}

function unexpected(message: string): Failure {
  return { code: 'internal', status: 'INTERNAL', message, exit: 1 }
}

function systemSentence(code: string, error: Error): string {
  const path = stringField(error, 'path')
  const call = stringField(error, 'syscall') ?? 'a system call'
  return path === undefined ? `${call} failed with ${code}` : `${call} failed with ${code} on ${path}`
}

function stringField(value: object, name: string): string | undefined {
  const field: unknown = Reflect.get(value, name)
  return typeof field === 'string' && field !== '' ? field : undefined
}

/** The one reason for which the whole run ends when the person presses Ctrl-C. */
export function interruption(): CliFault {
  return new CliFault('interrupted', 'interrupted')
}
