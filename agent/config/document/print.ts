/**
 * Plain data → YAML that every reader understands alike: kubeadm's (YAML 1.1) and ours (YAML 1.2).
 *
 * Text that either could take for something else is in double quotes, with escapes. Nothing is folded and nothing depends on the order of
 * anything but the data, so the same data gives the same bytes.
 */
import { Document, isScalar, visit, type Scalar } from 'yaml'

/** Returns the documents, each after its `---`. The data reads back equal. */
export function printYaml(documents: readonly unknown[]): string {
  return documents.map((data) => `---\n${printOne(data)}`).join('')
}

function printOne(data: unknown): string {
  const document = new Document(data, { version: '1.2', schema: 'core', aliasDuplicateObjects: false })
  visit(document, {
    Scalar: (_key, node) => {
      if (isScalar(node) && typeof node.value === 'string') node.type = styleOf(node.value)
    },
  })
  return document.toString({ lineWidth: 0, directives: false })
}

const PLAIN = /^[A-Za-z/][A-Za-z0-9_./-]*(?::[0-9A-Za-z_./-]+)*$/
/** Words that YAML 1.1 takes for a boolean or nothing. */
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null)$/i
/** Lines that a block keeps as they are: printable ASCII, no space at either end of a line, a line break at the end. */
const BLOCK = /^[!-~](?:[ -~]*[!-~])?(?:\n(?:[!-~](?:[ -~]*[!-~])?)?)*[!-~]\n$/

function styleOf(value: string): Scalar.Type {
  if (PLAIN.test(value) && !WORDS.test(value)) return 'PLAIN'
  return value.includes('\n') && BLOCK.test(value) ? 'BLOCK_LITERAL' : 'QUOTE_DOUBLE'
}
