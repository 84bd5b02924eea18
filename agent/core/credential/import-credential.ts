import type { NodeConfiguration } from '#config'
import { hashJoinPassword } from '#pki'
import type { TrustBook } from './trust-book.ts'

/**
 * Makes a record of the join credential that the configuration of a control plane carries, once for each username: a record that was revoked
 * or used up stays so over reboots, and a damaged book imports nothing. The password is kept as a hash.
 */
export async function importCredential(book: TrustBook, configuration: NodeConfiguration): Promise<void> {
  const { username, password } = configuration.node.trust ?? {}
  if (
    username === undefined ||
    password === undefined ||
    book.damaged ||
    book.content.imported.includes(username)
  )
    return
  const passwordHash = await hashJoinPassword(password)
  const createdAt = book.clock.now().toISOString()
  // Into both copies: one without it would bring a revoked record back.
  book.updateBoth((content) => {
    if (content.imported.includes(username)) return content
    const record = { username, passwordHash, createdAt, uses: 0, description: 'from the configuration' }
    const others = content.records.filter((one) => one.username !== username)
    return { ...content, records: [...others, record], imported: [...content.imported, username] }
  })
}
