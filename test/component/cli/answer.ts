/** What a call of the stand-in carries, and the refusals that core would answer. */
import * as grpc from '@grpc/grpc-js'

export type Call<Request> = {
  readonly request: Request
  getAuthContext(): ReturnType<grpc.ServerUnaryCall<unknown, unknown>['getAuthContext']>
}

export function rolesOf(call: Call<unknown>): string[] {
  const organization: unknown = call.getAuthContext().sslPeerCertificate?.subject.O
  return [organization].flat().filter((role) => typeof role === 'string')
}

export function commonName(call: Call<unknown>): string {
  return String(call.getAuthContext().sslPeerCertificate?.subject.CN)
}

export function denied(call: Call<unknown>): Error {
  return refusal(
    grpc.status.PERMISSION_DENIED,
    `role "${rolesOf(call).join(' ')}" may not call stele.agent.v1.SystemService/Reboot`,
    'role_missing',
    'use a context whose certificate carries role stele:operator or stele:admin',
  )
}

export function refusal(code: grpc.status, details: string, steleCode: string, hint: string): Error {
  const metadata = new grpc.Metadata()
  metadata.set('stele-code', steleCode)
  metadata.set('stele-hint', hint)
  return Object.assign(new Error(details), { code, details, metadata })
}

export function coreService(pid: number) {
  return { name: 'core', state: 2, pid, since: new Date(0), restarts: 0, lastExit: '' }
}

export function runningEvent(bootId: string, at: number) {
  return {
    sequence: 1n,
    at: new Date(at),
    bootId,
    code: 'machine.state',
    message: 'running',
    operationId: '',
    details: { from: 'booting' },
  }
}

const TRY = 1
const WARNING = 2

export function appliedAnswer(revision: bigint, mode: number) {
  return {
    revision,
    diff: '',
    changes: [{ path: 'hostname', effect: 'reboot' }],
    findings: [{ severity: WARNING, code: 'old', line: 0, column: 0, path: '', message: 'old', hint: '' }],
    rebootRequired: false,
    tryUntil: mode === TRY ? new Date(Date.now() + 60_000) : undefined,
    repeated: false,
    operationId: 'op-3',
  }
}
