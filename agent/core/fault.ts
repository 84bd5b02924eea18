import { Fault } from '#kit/fault'

/**
 * Codes of core that are no answer to a call; those that are stand where they are thrown, as RpcFault.
 *
 * | code | meaning |
 * |---|---|
 * | `flag_invalid` | a command line flag is missing or malformed |
 * | `peer_check_unavailable` | the peer of a unix socket cannot be known here, so nothing may be served |
 * | `authorization_incomplete` | a served method has no row in the table, or a row no method |
 * | `identity_refused` | a control plane refused to sign this node's certificate, or the answer cannot be used |
 * | `identity_unreachable` | no control plane answered |
 * | `source_unreachable` | a source of user data did not answer in time, or answered nonsense |
 * | `source_invalid` | a source of user data is of an unknown kind or too big |
 * | `file_refused` | a configured file lies outside the allowed folders |
 */
export type CoreFaultCode =
  | 'flag_invalid'
  | 'peer_check_unavailable'
  | 'authorization_incomplete'
  | 'identity_refused'
  | 'identity_unreachable'
  | 'source_unreachable'
  | 'source_invalid'
  | 'file_refused'

export class CoreFault extends Fault<CoreFaultCode> {}
