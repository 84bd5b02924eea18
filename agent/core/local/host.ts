import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, join, normalize, sep } from 'node:path'
import { CoreFault } from '../fault.ts'
import type { HostPort } from '../ports.ts'
import { writeAtomic } from '../store/atomic.ts'
import type { FileSystem } from '../store/file-system.ts'

/**
 * The embedded mode has no host of its own: files land below `<root>/files`, settings in `<root>/host.json`, where a person can look at them.
 *
 * Invariant: no file is written outside `<root>/files`, whatever a path says and whatever links lie on the way.
 */
export function directoryHost(files: FileSystem, root: string): HostPort {
  const base = join(root, 'files')
  return {
    applySettings: (settings) => {
      files.makeDirectory(root, 0o700)
      writeAtomic(files, join(root, 'host.json'), `${JSON.stringify(settings, null, 2)}\n`)
    },
    writeFiles: (list) => {
      mkdirSync(base, { recursive: true, mode: 0o700 })
      const real = realpathSync(base)
      for (const file of list) {
        const target = join(real, normalize(file.path))
        if (!target.startsWith(real + sep)) throw refused()
        try {
          if (!existsSync(dirname(target))) mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
          if (!(realpathSync(dirname(target)) + sep).startsWith(real + sep)) throw refused()
          writeAtomic(files, target, file.content, file.mode)
        } catch (cause) {
          throw cause instanceof CoreFault ? cause : unwritable(cause)
        }
      }
    },
  }
}

/** A folder in the way, a full disk: the node goes on without the file and says so. */
function unwritable(cause: unknown): CoreFault {
  return new CoreFault('file_refused', 'a configured file cannot be written', { cause })
}

function refused(): CoreFault {
  return new CoreFault('file_refused', 'a configured file lies outside the folder of this node')
}
