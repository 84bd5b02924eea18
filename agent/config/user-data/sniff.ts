/** What a text is when it is no node configuration: told by its first words, in one sentence each. */
import { UserDataFault } from './fault.ts'

/** Returns why `text` is not for us, or undefined when nothing speaks against it. */
export function sniff(text: string): UserDataFault | undefined {
  if (isBlank(text)) return new UserDataFault('absent', 'there is nothing but white space and comments')
  const start = text.trimStart()
  for (const { matches, code, what, hint } of FOREIGN) {
    if (matches(start)) return new UserDataFault(code, `not a node configuration: this is ${what}`, { hint })
  }
  return undefined
}

/** Comment lines, blank lines and empty documents only; a header of a foreign format is not a comment. */
function isBlank(text: string): boolean {
  if (isForeignHeader(text.trimStart())) return false
  return text.split('\n').every((line) => /^\s*(?:#.*|---\s*(?:#.*)?|\.\.\.\s*)?$/.test(line))
}

function isForeignHeader(start: string): boolean {
  return /^#!|^(?:## template:[^\n]*\n\s*)?#(?:cloud-|include|upstart|part-handler)/.test(start)
}

const HINT = 'give kubeadm documents and at most one NodeConfig as YAML'

const FOREIGN: readonly {
  readonly matches: (start: string) => boolean
  readonly code: 'shell_script' | 'cloud_config' | 'mime_multipart' | 'ignition' | 'markup'
  readonly what: string
  readonly hint: string
}[] = [
  {
    matches: (start) => start.startsWith('#!'),
    code: 'shell_script',
    what: 'a shell script',
    hint: `nothing on a node runs scripts; ${HINT}`,
  },
  {
    matches: isForeignHeader,
    code: 'cloud_config',
    what: 'for cloud-init (cloud-config or one of its formats)',
    hint: HINT,
  },
  {
    matches: (start) => /^(?:content-type:\s*multipart\/|mime-version:)/i.test(start),
    code: 'mime_multipart',
    what: 'a MIME multi-part message',
    hint: HINT,
  },
  {
    matches: (start) => start.startsWith('{') && /^\{[\s\S]{0,4096}?"ignition"\s*:/.test(start),
    code: 'ignition',
    what: 'an Ignition configuration',
    hint: HINT,
  },
  {
    matches: (start) => /^<(?:[!?a-z])/i.test(start),
    code: 'markup',
    what: 'an HTML or XML page',
    hint: 'an address answered with a page of its own, mostly an error or a login: check the source of the user data',
  },
]
