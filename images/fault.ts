import { Fault } from '#kit/fault'

/**
 * What can go wrong while an image is made:
 * - `profile_invalid`: a profile or contents document does not parse; the message names the path in it.
 * - `host_unfit`: not Linux, not root, or a program of the host is missing; the hint is the line that helps.
 * - `tool_failed`: an external program ended badly; the hint holds its last lines.
 * - `source_unknown`: no mirror of Debian could be derived from the host.
 * - `budget_exceeded`: the image is bigger, or holds more, than its profile allows.
 * - `secret_found`: a private key, token or password hash lies in the root.
 * - `input_missing`: a file that a step needs is not there.
 * - `busy`: another build holds the cache.
 * - `refused`: a folder, file or value that the build was given is not one that it may use; the message says why.
 */
export type ImageFaultCode =
  | 'profile_invalid'
  | 'host_unfit'
  | 'tool_failed'
  | 'source_unknown'
  | 'budget_exceeded'
  | 'secret_found'
  | 'input_missing'
  | 'busy'
  | 'refused'

export class ImageFault extends Fault<ImageFaultCode> {}
