/** JSON Schema of a NodeConfig document, for editors. The rules of text are prose in it: the parser is the judge. */
import { z } from 'zod'
import { nodeConfigSchema } from './schema.ts'

/** JSON Schema 2020-12, as committed in `node-config.schema.json`. */
export function nodeConfigJsonSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(nodeConfigSchema, { target: 'draft-2020-12', io: 'input' })
}
