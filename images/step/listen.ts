/**
 * Where the units of a root listen. Source: systemd.socket(5) for the keys and addresses, systemd.syntax(7) for how a unit file is read.
 *
 * Invariant: an address that this does not understand is reported, never passed over. A file counts wherever it lies, so every unit path of systemd.unit(5) is
 * covered, and one more cannot be forgotten; an empty assignment, which takes earlier ones back, is not followed.
 */
import { lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Tree } from '../tree.ts'

export type Listening = {
  /** Ports of TCP and UDP, each once, ascending. */
  readonly ports: readonly number[]
  /** Addresses that reach outside the node without such a port, or whose meaning is unknown: `PATH: KEY=VALUE`. */
  readonly others: readonly string[]
}

type Assignment = { readonly path: string; readonly key: string; readonly value: string }

const UNIT = /\.(?:socket|service)$/
/** Of one unit, of a prefix (`a-.socket.d`), or of every unit of the type (`socket.d`). */
const DROP_IN_FOLDER = /^(?:.*\.)?(?:socket|service)\.d$/
/** Files, netlink, message queues and functions of USB: nothing that a stranger on the network reaches. */
const LOCAL_KEYS = new Set(['FIFO', 'Special', 'Netlink', 'MessageQueue', 'USBFunction'])
const NETWORK_KEYS = new Set(['Stream', 'Datagram', 'SequentialPacket'])
/** `PORT`, `V4:PORT`, `[V6]:PORT`, each perhaps with `%INTERFACE`. */
const ADDRESS = /^(?:\[[0-9a-fA-F:.]+(?:%[\w.-]+)?\]:|[\d.]+:)?(\d{1,5})(?:%[\w.-]+)?$/
/** A flag of a daemon: `--listen ADDR:PORT`, `--listen=PORT`, `--listen-address "…"`. */
const FLAG = /--listen(?:[a-z-]*)(?:=|\s+)(?:["']?)(?:[^\s"']*:)?(\d{1,5})(?=["'\s]|$)/g

/** What sockets of systemd and the flags of services name, drop-ins included. */
export function findListening(tree: Tree): Listening {
  const assignments = unitFiles(tree).flatMap((path) => assignmentsOf(path, tree.read(path)))
  const found = assignments.map(listeningOf)
  return {
    ports: [...new Set(found.flatMap((each) => each.ports))].sort((a, b) => a - b),
    others: [...new Set(found.flatMap((each) => each.others))],
  }
}

/** Paths of units and drop-ins; a link is followed inside the tree. */
function unitFiles(tree: Tree): readonly string[] {
  const isDropIn = (path: string) => path.endsWith('.conf') && DROP_IN_FOLDER.test(basename(dirname(path)))
  const entries = tree.entries()
  const linkedFolders = entries
    .filter(({ path, stats }) => stats.isSymbolicLink() && DROP_IN_FOLDER.test(basename(path)))
    .flatMap(({ path }) => tree.list(tree.resolve(path) ?? path).map((name) => `${path}/${name}`))
    .filter(isDropIn)
  const direct = entries.map(({ path }) => path).filter((path) => UNIT.test(path) || isDropIn(path))
  return [...direct, ...linkedFolders].flatMap((path) => {
    const target = tree.resolve(path)
    return target !== undefined && lstatSync(tree.at(target)).isFile() ? [target] : []
  })
}

/** The assignments of a unit file: comments left out, lines that end in a backslash joined with the next that is no comment, blanks around both sides cut. */
export function assignmentsOf(path: string, text: string): readonly Assignment[] {
  const lines: string[] = []
  let begun = ''
  for (const line of text.split(/\r\n|[\n\r\0]/)) {
    if (/^\s*[#;]/.test(line)) continue
    if (line.endsWith('\\')) {
      begun += `${line.slice(0, -1)} `
      continue
    }
    lines.push(begun + line)
    begun = ''
  }
  return [...lines, begun].flatMap((line) => {
    const at = line.indexOf('=')
    return at < 0 ? [] : [{ path, key: line.slice(0, at).trim(), value: line.slice(at + 1).trim() }]
  })
}

function listeningOf(assignment: Assignment): Listening {
  const kind = /^Listen(.+)$/.exec(assignment.key)?.[1]
  return kind === undefined ? flagsOf(assignment) : addressOf(kind, assignment)
}

function flagsOf({ key, value }: Assignment): Listening {
  const flags = key.startsWith('Exec') || key === 'Environment' ? [...value.matchAll(FLAG)] : []
  return { ports: flags.map((match) => Number(match[1])), others: [] }
}

function addressOf(kind: string, { path, key, value }: Assignment): Listening {
  const isLocal = value === '' || LOCAL_KEYS.has(kind) || /^[/@]/.test(value)
  if (isLocal) return { ports: [], others: [] }
  const port = NETWORK_KEYS.has(kind) ? ADDRESS.exec(value)?.[1] : undefined
  return port === undefined
    ? { ports: [], others: [`${path}: ${key}=${value}`] }
    : { ports: [Number(port)], others: [] }
}
