import { Fault } from '#kit/fault'

/**
 * Codes of this folder.
 *
 * | code | meaning |
 * |---|---|
 * | `node_file_invalid` | node.json cannot be read or does not have the expected shape |
 * | `init_unreachable` | nothing answers on the control socket |
 * | `init_refused` | init answered that it does not do this now |
 * | `request_invalid` | a line on the control socket is no request |
 * | `service_unknown` | no service of that name |
 * | `busy` | a reboot or shutdown is under way |
 * | `directory_in_use` | another init answers on the control socket of this directory |
 * | `socket_path_too_long` | the path does not fit in a unix address (107 bytes, unix(7)) |
 */
export type InitFaultCode =
  | 'node_file_invalid'
  | 'init_unreachable'
  | 'init_refused'
  | 'request_invalid'
  | 'service_unknown'
  | 'busy'
  | 'directory_in_use'
  | 'socket_path_too_long'

export class InitFault extends Fault<InitFaultCode> {}
