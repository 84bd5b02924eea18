/** What is mounted where core keeps its state. Pure. */

export type MountedAt = {
  readonly mountPoint: string
  readonly type: string
  readonly source: string
  /** MAJOR:MINOR of the device. */
  readonly device: string
  /** Options of the mount, and those of the file system under all its mounts. */
  readonly options: readonly string[]
  readonly fileSystemOptions: readonly string[]
}

/**
 * Returns the mount that holds `path`, from the text of /proc/self/mountinfo (proc_pid_mountinfo(5)): of the mount points on its way the longest, and
 * of those at one place the last. Undefined when the text tells of none.
 */
export function mountOf(mountinfo: string, path: string): MountedAt | undefined {
  let found: MountedAt | undefined
  for (const mount of mountinfo.split('\n').flatMap(parseLine)) {
    if (!isOnTheWay(mount.mountPoint, path)) continue
    if (found === undefined || mount.mountPoint.length >= found.mountPoint.length) found = mount
  }
  return found
}

/** Whether memory is mounted where STATE should be: what stele-state-volatile.service does when STATE cannot be mounted. */
export function isStateLost(mountinfo: string, directory: string): boolean {
  return mountOf(mountinfo, directory)?.type === 'tmpfs'
}

function parseLine(line: string): readonly MountedAt[] {
  // Optional fields end with a lone hyphen.
  const found =
    /^\d+ \d+ (?<device>\d+:\d+) \S+ (?<at>\S+) (?<own>\S+)(?: \S+)*? - (?<type>\S+) (?<source>\S+)(?: (?<shared>\S+))?/.exec(
      line,
    )
  if (found?.groups === undefined) return []
  const { device = '', at = '', own = '', type = '', source = '', shared = '' } = found.groups
  return [
    {
      ...{ mountPoint: unescape(at), type, source: unescape(source), device },
      ...{ options: own.split(','), fileSystemOptions: shared.split(',') },
    },
  ]
}

/** Blanks, line feeds and backslashes are written as three octal digits. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

function isOnTheWay(mountPoint: string, path: string): boolean {
  return mountPoint === '/' || path === mountPoint || path.startsWith(`${mountPoint}/`)
}
