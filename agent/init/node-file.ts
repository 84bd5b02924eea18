import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { InitFault } from './fault.ts'

const program = z.array(z.string().min(1)).min(1)

const nodeFileSchema = z.strictObject({
  version: z.literal(1),
  name: z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/),
  addresses: z.array(z.union([z.ipv4(), z.ipv6()])).min(1),
  gatewayPort: z.int().min(1).max(65535),
  trustPort: z.int().min(1).max(65535),
  userData: z.array(z.string().min(1)),
  programs: z.strictObject({ core: program, gateway: program, trust: program }),
})

/** The one document that says what a node of the embedded mode is made of. */
export type NodeFile = z.infer<typeof nodeFileSchema>

/** Returns the node file at `path`; throws `node_file_invalid` with the paths of what is wrong and none of the values. */
export function readNodeFile(path: string): NodeFile {
  let document: unknown
  try {
    document = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new InitFault('node_file_invalid', 'the node file cannot be read as JSON', { cause })
  }
  const parsed = nodeFileSchema.safeParse(document)
  if (parsed.success) return parsed.data
  const where = parsed.error.issues.map((issue) => issue.path.join('.') || 'the document').join(', ')
  throw new InitFault('node_file_invalid', `the node file has unexpected values at: ${where}`)
}
