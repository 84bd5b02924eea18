import { Fault } from '#kit/fault'

/** Why bytes are not the text of a node configuration. Each code is stable; `absent` alone means "nothing was delivered". */
export type UserDataCode =
  /** Nothing but white space and comments. */
  | 'absent'
  | 'input_too_large'
  | 'output_too_large'
  /** Unpacks to more than a hundred times its size. */
  | 'ratio_too_large'
  | 'too_many_layers'
  | 'gzip_corrupt'
  | 'gzip_truncated'
  | 'base64_character'
  | 'base64_padding'
  /** Another compression that is not accepted. */
  | 'compression_unknown'
  /** UTF-16 or UTF-32. */
  | 'encoding_utf16'
  | 'encoding_utf8'
  /** Control bytes: a blob and no text. */
  | 'binary'
  | 'shell_script'
  | 'cloud_config'
  | 'mime_multipart'
  | 'ignition'
  /** An HTML or XML page, mostly somebody's error page. */
  | 'markup'

export class UserDataFault extends Fault<UserDataCode> {}
