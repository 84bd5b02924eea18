import type { TrustBook } from '../../../../agent/core/credential/trust-book.ts'
import type { Node } from '../../../../agent/core/node.ts'
import { Operations, operationsSchema } from '../../../../agent/core/operation.ts'
import { credentialHandlers } from '../../../../agent/core/rpc/credential.ts'
import type { AgentContext } from '../../../../agent/core/rpc/context.ts'
import { JsonFile } from '../../../../agent/core/store/json-file.ts'
import { MemoryFileSystem } from '../store/memory-file-system.ts'

/** An administrator of the control plane that `book` is of; `username` stands in its configuration. */
export function administrator(book: TrustBook, username?: string) {
  const { clock } = book
  const findings = new Map<string, unknown>()
  const node = {
    clock,
    state: { kind: 'running' },
    active: { view: { role: 'control-plane' }, parsed: { node: { trust: { username } } } },
    setFinding: (code: string, finding: unknown) =>
      finding === undefined ? findings.delete(code) : findings.set(code, finding),
  }
  const operations = new Operations({
    file: new JsonFile(new MemoryFileSystem(), '/state/operations.json', operationsSchema),
    clock,
    bootId: () => 'b',
  })
  // The handlers read no more of a node and a call than what stands here.
  const handlers = credentialHandlers({ node: node as unknown as Node, book, operations })
  const context = { identity: { commonName: 'ada' }, path: '/create' } as unknown as AgentContext
  return {
    findings,
    operations,
    deny: (serial: string) => handlers.denyCertificate({ serial, reason: 'stolen' }, context),
    forget: (name: string) => handlers.forgetEnrolment({ node: name, dryRun: false }, context),
    revoke: (name: string) => handlers.revokeJoinCredential({ username: name }, context),
    create: (more: { readonly idempotencyKey?: string; readonly maxUses?: number } = {}) =>
      handlers.createJoinCredential(
        { lifetime: undefined, maxUses: 0, description: '', idempotencyKey: '', ...more },
        context,
      ),
  }
}
