/**
 * Units of systemd in a tree: what packages enable is forgotten, what the contents enable is on, and a unit whose program is gone goes too.
 *
 * Invariant: enablement is links below /usr, so that nothing in /etc decides what runs.
 */
import { ImageFault } from '../fault.ts'
import type { Contents } from '../profile.ts'
import type { Tree } from '../tree.ts'

export const UNITS = 'usr/lib/systemd/system'

/** Settles which units exist and which are on. Throws `input_missing` when a unit to enable is not there. */
export function settleUnits(tree: Tree, contents: Pick<Contents, 'enable' | 'disable'>): void {
  tree.remove('etc/systemd')
  for (const name of tree.list(UNITS)) {
    if (/\.(wants|requires|upholds)$/.test(name)) tree.remove(`${UNITS}/${name}`)
  }
  for (const name of contents.disable) tree.remove(`${UNITS}/${name}`)
  for (const name of tree.list(UNITS).filter((each) => each.endsWith('.service'))) {
    const path = `${UNITS}/${name}`
    if (!tree.isLink(path) && lacksProgram(tree, tree.read(path))) tree.remove(path)
  }
  for (const name of tree.list(UNITS).filter((each) => each.endsWith('.socket'))) removeIdleSocket(tree, name)
  tree.link(`${UNITS}/default.target`, 'multi-user.target')
  tree.link(`${UNITS}/dbus.service`, 'dbus-broker.service')
  tree.link(`${UNITS}/ctrl-alt-del.target`, '/dev/null')
  for (const { unit, target } of contents.enable) {
    if (!tree.has(`${UNITS}/${unit}`))
      throw new ImageFault('input_missing', `the unit ${unit} to enable is not there`)
    tree.link(`${UNITS}/${target}.wants/${unit}`, `../${unit}`)
  }
}

/** True when a program that the unit starts is not in the tree. */
export function lacksProgram(tree: Tree, text: string): boolean {
  const programs = [...text.matchAll(/^ExecStart=[-@:+!|]*(\S+)/gm)].map((match) => match[1] ?? '')
  return programs.some((program) =>
    program.startsWith('/')
      ? tree.resolve(program.slice(1)) === undefined
      : !['usr/bin', 'usr/sbin'].some((folder) => tree.has(`${folder}/${program}`)),
  )
}

function removeIdleSocket(tree: Tree, name: string): void {
  const path = `${UNITS}/${name}`
  if (tree.isLink(path)) return
  const named = /^Service=(\S+)/m.exec(tree.read(path))?.[1]
  const base = name.replace(/\.socket$/, '')
  const served = named ?? (tree.has(`${UNITS}/${base}@.service`) ? `${base}@.service` : `${base}.service`)
  if (!tree.has(`${UNITS}/${served}`) && served !== 'dbus.service') tree.remove(path)
}
