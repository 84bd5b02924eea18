import { Fault } from '#kit/fault'

/**
 * Codes of the real host.
 *
 * | code | meaning |
 * |---|---|
 * | `program_missing` | a program of the host is not in the image |
 * | `program_failed` | a program of the host ended with an error, or said something that cannot be understood |
 * | `program_timeout` | a program of the host did not end in time and was killed |
 * | `power_refused` | every way to bring the machine down was tried and refused |
 * | `host_unreadable` | the kernel does not tell what every Linux tells |
 */
export type LinuxFaultCode =
  'program_missing' | 'program_failed' | 'program_timeout' | 'power_refused' | 'host_unreadable'

export class LinuxFault extends Fault<LinuxFaultCode> {}
