/** YAML files of our own: strict, loaded only when one is read. */
import { err, ok, type Result } from '#kit/result'

/** The data of one document; refuses errors, keys that are given twice, several documents, and aliases. The reason quotes nothing. */
export async function readYaml(text: string): Promise<Result<unknown, string>> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true })
  const [first] = document.errors
  if (first !== undefined)
    return err(`it is not valid YAML (${first.code.toLowerCase().replaceAll('_', ' ')})`)
  try {
    return ok(document.toJS({ maxAliasCount: 0 }))
  } catch {
    return err('aliases are not allowed')
  }
}
