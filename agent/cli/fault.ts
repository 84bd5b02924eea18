import { Fault } from '#kit/fault'

/**
 * Everything that stelectl itself refuses or fails at; what nodes answer keeps the node's own codes.
 *
 * | code | when |
 * |---|---|
 * | usage | the command line cannot be understood |
 * | context_file_missing, context_file_invalid, context_file_permissions | the file of contexts cannot be used |
 * | context_unknown, context_missing, context_exists | the context that was named, or none, or one too many |
 * | node_unknown, nodes_unnamed, not_confirmed, no_control_plane | which nodes are meant |
 * | file_unreadable, file_exists, file_too_large, file_unwritable | local files |
 * | invalid_document, secrets_invalid, machine_unknown | what is in them |
 * | failed, unreachable | a step of `npm start` did not end as it should |
 * | wait_deadline, not_running, reply_empty | a node did not get, or say, what was waited for |
 * | image_missing, image_invalid | the image that machines are to boot |
 * | programs_missing, machine_failed, machine_stuck | what runs machines, and machines that do not get there |
 * | cluster_unknown, cluster_damaged, cluster_differs, cluster_busy, folder_foreign | clusters of `stelectl cluster`, and their folders |
 * | interrupted, pipe_closed | the person, or the reader of the output, left |
 */
export type CliFaultCode =
  | 'usage'
  | 'context_file_missing'
  | 'context_file_invalid'
  | 'context_file_permissions'
  | 'context_unknown'
  | 'context_missing'
  | 'context_exists'
  | 'node_unknown'
  | 'nodes_unnamed'
  | 'not_confirmed'
  | 'no_control_plane'
  | 'file_unreadable'
  | 'file_exists'
  | 'file_too_large'
  | 'file_unwritable'
  | 'invalid_document'
  | 'secrets_invalid'
  | 'machine_unknown'
  | 'failed'
  | 'unreachable'
  | 'wait_deadline'
  | 'not_running'
  | 'reply_empty'
  | 'image_missing'
  | 'image_invalid'
  | 'programs_missing'
  | 'machine_failed'
  | 'machine_stuck'
  | 'cluster_unknown'
  | 'cluster_damaged'
  | 'cluster_differs'
  | 'cluster_busy'
  | 'folder_foreign'
  | 'interrupted'
  | 'pipe_closed'

export class CliFault extends Fault<CliFaultCode> {}
