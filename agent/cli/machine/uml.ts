/**
 * Machines of User-Mode Linux: the root of a node under a Linux kernel that is a program. It starts in seconds without emulation and has processes,
 * mounts, cgroups and a network of its own; it has no firmware, no boot loader and no verity.
 *
 * Invariants: everything of a machine is below one process, in namespaces that end with it; nothing is left on the host but its files.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Lifetime } from '#kit/lifetime'
import { MachineConsole } from './console.ts'
import type { Machine, MachineNeeds } from './machine.ts'
import { writeSeed } from './seed.ts'
import { runTool, type Tools } from './tool.ts'
import type { Cell, Forward } from './uml-cell.ts'
import type { UmlImage } from './uml-image.ts'

/** What can be asked of such a machine: it has no firmware and one network card. */
export type UmlNeeds = Omit<
  MachineNeeds,
  'boot' | 'secureBootVariables' | 'link' | 'disk' | 'uuid' | 'secondDisk'
>

export type UmlDisks = { readonly state: string; readonly seed: string | undefined }

const TAP = 'tap0'
/** The kernel keeps the guest's memory in a file here; the mount must allow programs, which /tmp of many hosts does not. */
const MEMORY_FOLDER = '/dev/shm'
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/tmp', TMPDIR: MEMORY_FOLDER }
const STATE = '[Partition]\nType=linux-generic\nLabel=state\nFormat=ext4\n'

/** Starts a machine. It is running when this returns; what it does then is on its console. Needs root, for the namespaces and the tap device. */
export async function startUml(image: UmlImage, tools: Tools, needs: UmlNeeds): Promise<Machine> {
  const { folder, name, userData } = needs
  mkdirSync(folder, { recursive: true })
  const seed =
    userData === undefined
      ? undefined
      : await writeSeed(tools, join(folder, `${name}.seed`), { name, userData })
  const disks = { state: await prepareState(tools, needs), seed }
  const child = spawn('unshare', cellCommand(umlCell(image, tools, { needs, disks })), {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: ENVIRONMENT,
  })
  const { console, ended } = watch(child, join(folder, `${name}.console.log`))
  const powerCut = async () => {
    child.kill('SIGKILL')
    await ended.catch(() => undefined)
  }
  await using rollback = new Lifetime()
  rollback.onClose(powerCut)
  const ports = new Map<number, number>()
  for (const guest of needs.ports ?? []) ports.set(guest, await forward(child, guest))
  rollback.hand()
  return {
    console,
    port(guest) {
      const port = ports.get(guest)
      if (port === undefined) throw new Error(`port ${guest} of ${name} was not asked for`)
      return port
    },
    powerCut,
    ended,
    acceleration: 'native',
    [Symbol.asyncDispose]: powerCut,
  }
}

/** The program of the kernel with its arguments, and the network around it. Pure. */
export function umlCell(
  image: UmlImage,
  tools: Tools,
  machine: { readonly needs: UmlNeeds; readonly disks: UmlDisks },
): Cell {
  const { needs, disks } = machine
  const network = needs.network ?? 2
  const lastByte = network.toString(16).padStart(2, '0')
  const [outer, guest] = [`10.0.${network}.2`, `10.0.${network}.15`]
  return {
    tap: TAP,
    address: `${outer}/24`,
    guest,
    env: ENVIRONMENT,
    command: [
      ...tools.command([needs.folder, image.folder]),
      image.linux,
      ...[`mem=${needs.memoryMiB ?? 1024}M`, `umid=${needs.name}`, `uml_dir=${needs.folder}/`],
      ...[`ubd0r=${image.root}`, `ubd1=${disks.state}`],
      ...(disks.seed === undefined ? [] : [`ubd2r=${disks.seed}`]),
      `vec0:transport=tap,ifname=${TAP},mac=52:54:00:00:00:${lastByte},depth=64,gro=1`,
      `ip=${guest}::${outer}:255.255.255.0::vec0:none`,
      ...image.manifest.commandLine.split(' '),
      ...(needs.kernelArguments ?? []),
    ],
  }
}

/** Arguments of unshare(1): namespaces of processes and network that end with this command. */
function cellCommand(cell: Cell): readonly string[] {
  const program = [process.execPath, join(import.meta.dirname, 'uml-cell.ts'), JSON.stringify(cell)]
  // With a /proc of its own processes: bubblewrap looks itself up there by its number.
  return ['--net', '--pid', '--mount-proc', '--fork', '--kill-child=SIGKILL', '--', ...program]
}

function watch(
  child: ChildProcess,
  log: string,
): { readonly console: MachineConsole; readonly ended: Promise<void> } {
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('the streams of a machine are pipes')
  let complaint = ''
  stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-4096)))
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    // Closed, not only exited: the last process of the guest holds the output, so it is gone too.
    child.once('close', (code, signal) => {
      if (code === 0 || signal !== null || code === 137) resolve()
      else reject(new Error(`the kernel exited ${code}: ${complaint}`))
    })
  })
  ended.catch(() => undefined)
  return { console: new MachineConsole(stdout, log), ended }
}

/** Listens on a free port here and hands the socket to the cell. Returns the port. */
async function forward(child: ChildProcess, guestPort: number): Promise<number> {
  const server = createServer()
  server.listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  // A TCP server that listens has an address object, never a path.
  const { port } = server.address() as AddressInfo
  const message: Forward = { guestPort }
  await new Promise<void>((resolve, reject) => {
    child.send(message, server, (error) => (error === null ? resolve() : reject(error)))
  })
  server.close()
  return port
}

/** The disk that stays under the machine's name: one partition, which the root mounts by its label. */
async function prepareState(tools: Tools, needs: UmlNeeds): Promise<string> {
  const disk = join(needs.folder, `${needs.name}.state`)
  if (existsSync(disk)) return disk
  const definitions = join(needs.folder, `${needs.name}.repart.d`)
  mkdirSync(definitions, { recursive: true })
  writeFileSync(join(definitions, '50-state.conf'), STATE)
  const repart = ['systemd-repart', '--offline=yes', '--dry-run=no', '--empty=create']
  await runTool(tools, [...repart, `--size=${needs.diskGiB ?? 4}G`, `--definitions=${definitions}`, disk], {
    binds: [needs.folder],
  })
  return disk
}
