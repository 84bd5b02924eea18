/** A tools tree: a root file system of programs that the host lacks or has too old, entered without its scripts and without a container engine. */

/** The command that enters the tools tree; what follows it is a program in the tree, which sees these paths of the host and no others. */
export function enterTree(
  tree: string,
  writable: readonly string[],
  readable: readonly string[] = [],
): readonly string[] {
  const binds = [
    ...writable.flatMap((path) => ['--bind', path, path]),
    ...readable.flatMap((path) => ['--ro-bind', path, path]),
  ]
  return [
    ...['bwrap', '--bind', tree, '/', '--dev-bind', '/dev', '/dev', '--proc', '/proc'],
    ...['--tmpfs', '/tmp', '--tmpfs', '/run', '--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf'],
    ...['--ro-bind-try', '/etc/ssl/certs', '/etc/ssl/certs', ...binds],
    ...['--die-with-parent', '--cap-add', 'ALL'],
  ]
}
