import type { TrustServiceService } from '#api'
import type { Clock } from '#kit/clock'
import { RpcFault, type CallContext, type Handlers } from '#rpc'
import type { Audit } from '../audit.ts'
import type { Signed, Signer } from '../credential/signer.ts'
import type { EventLog } from '../event-log.ts'

/** A call over trust's socket; `address` is the peer's as trust saw it. */
export type TrustContext = CallContext & { readonly address: string }

export type TrustOptions = {
  readonly signer: Signer
  readonly audit: Audit
  readonly events: EventLog
  readonly clock: Clock
}

export function trustHandlers(options: TrustOptions): Handlers<typeof TrustServiceService, TrustContext> {
  const { signer } = options
  return {
    sign: async (request, context) => {
      let reason = ''
      const username = safeUsername(request.username)
      const signed = await recorded(
        options,
        context,
        () => ({ username, ...(reason === '' ? {} : { reason }) }),
        () =>
          signer.sign(request, context.address, (why) => {
            reason = why
          }),
      )
      options.events.emit({
        code: 'node.joined',
        message: 'A node got its certificate from this control plane.',
        details: { node: signed.node, username, address: context.address },
      })
      return { certificate: signed.certificate, authorities: signed.authorities }
    },
    renew: async (request, context) => {
      const signed = await recorded(
        options,
        context,
        () => ({}),
        () => signer.renew(request, context.address),
      )
      return { certificate: signed.certificate, authorities: signed.authorities }
    },
  }
}

/** Writes down who asked for a certificate and what came of it, with the real reason of a refusal, which the caller is not told. */
async function recorded(
  options: TrustOptions,
  context: TrustContext,
  details: () => Readonly<Record<string, string>>,
  act: () => Promise<Signed>,
): Promise<Signed> {
  const began = options.clock.monotonic()
  const write = (outcome: string, more: Readonly<Record<string, string>>) => {
    const facts = { ...details(), ...more }
    const ms = Math.round(options.clock.monotonic() - began)
    const { address: from, path, requestId } = context
    options.audit.record({
      who: undefined,
      from,
      what: path.slice(1),
      outcome,
      ms,
      requestId,
      details: facts,
    })
    if (outcome !== 'ok') context.log.warn('certificate refused', { from, outcome, ...facts })
  }
  try {
    const signed = await act()
    write('ok', { node: signed.node })
    return signed
  } catch (error) {
    write(error instanceof RpcFault ? error.code : 'internal', {})
    throw error
  }
}

/** A username as it may stand in a log: bounded and printable, whatever was sent. */
function safeUsername(text: string): string {
  return text.slice(0, 64).replaceAll(/[^\x21-\x7e]/g, '?')
}
