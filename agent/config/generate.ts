/** Writes the JSON Schema of NodeConfig beside its source. Run after a change of the schema: `node agent/config/generate.ts`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeConfigJsonSchema } from './v1alpha1/json-schema.ts'

const target = join(import.meta.dirname, 'v1alpha1/node-config.schema.json')
writeFileSync(target, `${JSON.stringify(nodeConfigJsonSchema(), undefined, 2)}\n`)
