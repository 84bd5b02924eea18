/**
 * Where Debian's packages come from: derived from the apt configuration of the host, or from `--mirror`, never written in the repository.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ImageFault } from './fault.ts'

/** An archive that the host already trusts. */
export type HostSource = {
  readonly uri: string
  readonly suites: readonly string[]
  readonly components: readonly string[]
}

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** Every `deb` source that the host knows, from sources.list and sources.list.d in both formats. */
export function readHostSources(folder = '/etc/apt'): readonly HostSource[] {
  const parts = join(folder, 'sources.list.d')
  const files = [join(folder, 'sources.list'), ...list(parts).map((name) => join(parts, name))]
  return files.flatMap((file) => {
    const text = read(file)
    return file.endsWith('.sources') ? parseDeb822(text) : parseOneLine(text)
  })
}

/** Sources of sources.list(5), one a line. */
export function parseOneLine(text: string): readonly HostSource[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s*(.*)$/.exec(line.replace(/#.*$/, ''))
    if (!match) return []
    const [, uri = '', suite = '', components = ''] = match
    return [{ uri: trim(uri), suites: [suite], components: words(components) }]
  })
}

/** Sources of sources.list(5), deb822 stanzas. */
export function parseDeb822(text: string): readonly HostSource[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const lines = stanza.split('\n').filter((line) => !line.startsWith('#'))
    const fields = new Map(
      lines.flatMap((line) => {
        const match = /^([A-Za-z-]+):\s*(.*)$/.exec(line)
        return match ? [[(match[1] ?? '').toLowerCase(), match[2] ?? ''] as const] : []
      }),
    )
    if (!words(fields.get('types') ?? '').includes('deb') || fields.get('enabled') === 'no') return []
    const suites = words(fields.get('suites') ?? '')
    return words(fields.get('uris') ?? '').map((uri) => ({
      uri: trim(uri),
      suites,
      components: words(fields.get('components') ?? ''),
    }))
  })
}

/**
 * One-line sources for `suite`, signed by Debian's keyring. The archive is the host's own source of its release, the security archive the host's
 * own source of `<release>-security`; with a mirror, `<mirror>` and `<mirror>-security`. Throws ImageFault `source_unknown`.
 */
export function sourcesFor(suite: string, host: readonly HostSource[], mirror?: string): readonly string[] {
  const line = (uri: string, name: string) => `deb [signed-by=${KEYRING}] ${uri} ${name} main`
  if (mirror !== undefined) {
    if (!URL.canParse(mirror) || !/^(?:https?|file):$/.test(new URL(mirror).protocol) || /\s/.test(mirror)) {
      throw new ImageFault('source_unknown', `--mirror takes a URL of http, https or file, not ${mirror}`, {
        hint: 'write the folder that holds dists/, as in http://HOST/debian',
      })
    }
    const base = trim(mirror)
    return [line(base, suite), line(base, `${suite}-updates`), line(`${base}-security`, `${suite}-security`)]
  }
  const main = host.filter((source) => source.components.includes('main'))
  const security = main.find((source) => source.suites.some((name) => name.endsWith('-security')))
  const archive = main.find((source) => /\/debian$/.test(source.uri))
  if (archive === undefined) {
    throw new ImageFault('source_unknown', 'no source of Debian in the apt configuration of this host', {
      hint: 'pass --mirror URL, for example that of the mirror that your Debian machines use',
    })
  }
  return [
    line(archive.uri, suite),
    line(archive.uri, `${suite}-updates`),
    ...(security ? [line(security.uri, `${suite}-security`)] : []),
  ]
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

function trim(uri: string): string {
  return uri.replace(/\/+$/, '')
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.(list|sources)$/.test(name))
      .sort()
  } catch {
    return []
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
