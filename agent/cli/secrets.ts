/** The file of a cluster's secrets: made once, read by `gen config` and `render`, never by a node. */
import type { ClusterSecrets } from '#pki'
import { CliFault } from './fault.ts'
import { readInput, writePrivate } from './file.ts'
import { readYaml } from './yaml.ts'

const HEADER =
  '# Secrets of one Stele cluster, authorities included: keep this file as you keep a root password.\n'

/** Writes the secrets, readable by their owner alone. Throws CliFault `file_exists` unless `force`. */
export async function writeSecrets(
  path: string,
  secrets: ClusterSecrets,
  options: { readonly force: boolean },
): Promise<void> {
  const { stringify } = await import('yaml')
  await writePrivate(path, `${HEADER}${stringify(secrets, { lineWidth: 0 })}`, { exclusive: !options.force })
}

/** Reads secrets back. Throws CliFault `secrets_invalid`, `file_unreadable`. */
export async function readSecrets(path: string, signal: AbortSignal): Promise<ClusterSecrets> {
  const { bytes, label } = await readInput(path, { signal })
  const data = await readYaml(bytes.toString('utf8'))
  if (!data.ok) throw notSecrets(label, data.error)
  const { parseClusterSecrets } = await import('#pki')
  const parsed = parseClusterSecrets(data.value)
  if (!parsed.ok) throw notSecrets(label, parsed.error.message, parsed.error)
  return parsed.value
}

function notSecrets(label: string, reason: string, cause?: Error): CliFault {
  return new CliFault('secrets_invalid', `${label} does not hold the secrets of a cluster: ${reason}`, {
    hint: 'make them with stelectl gen secrets',
    cause,
  })
}
