import { Fault } from '#kit/fault'

export type ConfigFaultCode =
  /** Content of a file is not what its encoding says. */
  | 'content_form'
  /** Content of a file is larger than a file may be. */
  | 'content_too_large'

export class ConfigFault extends Fault<ConfigFaultCode> {}
