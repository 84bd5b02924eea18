/** Where a real node looks for its user data, in order: the kernel argument, the machine's serial number, a seed disk, and what flags name. */
import type { Clock } from '#kit/clock'
import { CoreFault } from '../fault.ts'
import { httpSource } from '../local/user-data-http.ts'
import { pathSource } from '../local/user-data-file.ts'
import type { UserDataSource } from '../ports.ts'
import { kernelArguments, noCloudHints } from './kernel-argument.ts'
import { seedSource, type SeedPort } from './seed-disk.ts'

export const USER_DATA_ARGUMENT = 'stele.userdata'

/** Returns the sources. Text that names none becomes a source that says so, and the others are still tried. */
export function userDataSources(options: {
  readonly commandLine: string
  /** Serial number of the machine (SMBIOS type 1); empty when there is none. */
  readonly serial: string
  readonly flags: readonly string[]
  readonly seeds: SeedPort
  readonly clock: Clock
}): readonly UserDataSource[] {
  const { commandLine, serial, flags, seeds, clock } = options
  const seedFrom = [...kernelArguments(commandLine, 'ds').map((value) => `ds=${value}`), serial].flatMap(
    (text) => noCloudHints(text)?.seedFrom ?? [],
  )
  return [
    ...kernelArguments(commandLine, USER_DATA_ARGUMENT).map((text) => toSource(text, clock)),
    ...seedFrom.map((text) => toSource(seedFile(text), clock)),
    seedSource(seeds),
    ...flags.map((text) => toSource(text, clock)),
  ]
}

/** NoCloud names a folder, by a URL or a path that `user-data` is appended to. */
function seedFile(folder: string): string {
  const isUrl = /^https?:/i.test(folder)
  return isUrl ? `${folder}${folder.endsWith('/') ? '' : '/'}user-data` : `${folder.replace(/\/?$/, '')}/`
}

function toSource(text: string, clock: Clock): UserDataSource {
  if (text.startsWith('/')) return pathSource(text)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'file:') return pathSource(decodeURIComponent(url.pathname))
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return httpSource(url, clock)
  return {
    kind: 'file',
    location: 'not a path and not a URL',
    read: async () => {
      throw new CoreFault('source_invalid', 'the source is neither a path nor an http, https or file URL')
    },
  }
}
