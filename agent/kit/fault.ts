/**
 * The base of every folder's own error class: a stable code for machines, a sentence for people, a hint for the next step.
 *
 * Invariant: neither `message` nor `hint` ever holds a secret or a value taken from a document; the cause may, and is logged only.
 */
export class Fault<Code extends string> extends Error {
  readonly code: Code
  readonly hint: string | undefined

  constructor(
    code: Code,
    message: string,
    options: { readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = new.target.name
    this.code = code
    this.hint = options.hint
  }
}

/** The code that the system gave an error, as ENOENT; undefined for an error of another origin. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
