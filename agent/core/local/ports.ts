import { join } from 'node:path'
import { nodeDirectory } from '#init'
import type { Clock } from '#kit/clock'
import { CoreFault } from '../fault.ts'
import type { Ports, UserDataSource } from '../ports.ts'
import type { FileSystem } from '../store/file-system.ts'
import { directoryHost } from './host.ts'
import { fileLogs } from './logs.ts'
import { localIntegrity } from './integrity.ts'
import { localResources } from './resource.ts'
import { initPorts } from './services.ts'
import { httpSource } from './user-data-http.ts'
import { pathSource } from './user-data-file.ts'

export type LocalOptions = {
  readonly directory: string
  readonly userData: readonly string[]
  readonly files: FileSystem
  readonly clock: Clock
}

/** The ports of the embedded mode: a directory stands for the host and init for its service manager. */
export function localPorts(options: LocalOptions): Ports {
  const paths = nodeDirectory(options.directory)
  return {
    platform: 'local',
    ...initPorts(paths.initSocket),
    resources: localResources(options.directory),
    integrity: localIntegrity,
    logs: fileLogs({ log: paths.log, audit: join(paths.state, 'log') }, options.clock),
    host: directoryHost(options.files, join(options.directory, 'host')),
    userData: options.userData.map((source) => toSource(source, options.clock)),
  }
}

/** Returns the source that `text` names: an http or https URL, a `file:` URL or a path. */
function toSource(text: string, clock: Clock): UserDataSource {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return pathSource(text)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'file:') return pathSource(decodeURIComponent(url.pathname))
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return httpSource(url, clock)
  throw new CoreFault('flag_invalid', 'a --user-data flag is neither a path nor an http, https or file URL')
}
