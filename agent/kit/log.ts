import { pino, type DestinationStream } from 'pino'

type Fields = Readonly<Record<string, unknown>>

/** A constant sentence plus fields, one JSON line each. Children carry identity (rpc, caller, object). */
export type Log = {
  info(sentence: string, fields?: Fields): void
  warn(sentence: string, fields?: Fields): void
  error(sentence: string, fields?: Fields): void
  child(fields: Fields): Log
}

/**
 * Names of fields that never reach a line, at the top level and one level below. `Secret` values mask themselves; this list is the
 * second net, for values that came from a foreign type.
 */
const REDACTED = [
  'password',
  'privateKeyPem',
  'caKey',
  'token',
  'certificateKey',
  'authorization',
  'secret',
  'content',
]

/** Returns a logger on stdout (or `destination`). Writes synchronously, so that the last lines before a crash are not lost. */
export function createLog(process: string, destination?: DestinationStream): Log {
  const paths = REDACTED.flatMap((name) => [name, `*.${name}`])
  const root = pino(
    {
      base: { process },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: pino.stdSerializers.errWithCause },
      redact: { paths, censor: '[secret]' },
      messageKey: 'message',
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  )
  return wrap(root)
}

type Line = (fields: object, sentence: string) => void
type Sink = { readonly info: Line; readonly warn: Line; readonly error: Line; child(fields: object): Sink }

function wrap(sink: Sink): Log {
  return {
    info: (sentence, fields = {}) => sink.info(fields, sentence),
    warn: (sentence, fields = {}) => sink.warn(fields, sentence),
    error: (sentence, fields = {}) => sink.error(fields, sentence),
    child: (fields) => wrap(sink.child(fields)),
  }
}
