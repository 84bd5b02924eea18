/** Machines of QEMU: the real chain of firmware, boot loader, UKI, verified root, with the image's own kernel. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '../cluster/port.ts'
import { findAcceleration, KVM_ARGUMENTS, type Acceleration } from './acceleration.ts'
import { MachineConsole } from './console.ts'
import type { Image } from './image.ts'
import { linkArguments, linkKernelArguments } from './link.ts'
import type { Machine, MachineNeeds } from './machine.ts'
import { writeSeed } from './seed.ts'
import type { Tools } from './tool.ts'

const FIRMWARE = '/usr/share/OVMF/OVMF_CODE_4M.fd'
const FIRMWARE_SECURE = '/usr/share/OVMF/OVMF_CODE_4M.secboot.fd'
const VARIABLES = '/usr/share/OVMF/OVMF_VARS_4M.fd'

export type MachineFiles = {
  readonly disk: string
  readonly variables: string
  readonly seed: string | undefined
  readonly ports: ReadonlyMap<number, number>
  readonly acceleration: Acceleration
}

/** Starts a machine. It is running when this returns; what it does then is on its console. */
export async function startQemu(image: Image, tools: Tools, needs: MachineNeeds): Promise<Machine> {
  const ports = new Map<number, number>()
  for (const guest of needs.ports ?? []) ports.set(guest, await freePort('127.0.0.1', 0))
  const files = await prepareFiles({ image, tools, needs, ports })
  const binds = [needs.folder, image.folder]
  const [program = '', ...args] = [
    ...tools.command(binds),
    'qemu-system-x86_64',
    ...qemuArguments(image, needs, files),
  ]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const console = new MachineConsole(child.stdout, join(needs.folder, `${needs.name}.console.log`))
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-4096)))
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      if (code === 0 || signal !== null || code === 137) resolve()
      else reject(new Error(`qemu exited ${code}: ${complaint}`))
    })
  })
  ended.catch(() => undefined)
  const powerCut = async () => {
    child.kill('SIGKILL')
    await ended.catch(() => undefined)
  }
  return {
    console,
    port(guest) {
      const port = ports.get(guest)
      if (port === undefined) throw new Error(`port ${guest} of ${needs.name} was not asked for`)
      return port
    },
    powerCut,
    ended,
    acceleration: files.acceleration,
    [Symbol.asyncDispose]: powerCut,
  }
}

export type PrepareInput = {
  readonly image: Image
  readonly tools: Tools
  readonly needs: MachineNeeds
  /** Ports of the guest, each with its port here. */
  readonly ports: ReadonlyMap<number, number>
}

/** Makes what is not there yet of a machine's files. A disk appears whole or not at all, so that it may be interrupted at any moment. */
export async function prepareFiles({ image, tools, needs, ports }: PrepareInput): Promise<MachineFiles> {
  const { folder, name, userData } = needs
  mkdirSync(folder, { recursive: true })
  return {
    disk: prepareDisk(image, needs),
    variables: prepareVariables(tools, needs),
    seed:
      userData === undefined
        ? undefined
        : await writeSeed(tools, join(folder, `${name}.seed`), { name, userData }),
    ports,
    acceleration: await findAcceleration(image, tools),
  }
}

/** The arguments of QEMU; the guest's console is its standard output. Pure. */
export function qemuArguments(image: Image, needs: MachineNeeds, files: MachineFiles): readonly string[] {
  const secure = needs.secureBootVariables !== undefined
  return [
    ...['-no-user-config', '-nodefaults', '-display', 'none', '-machine', secure ? 'q35,smm=on' : 'q35'],
    ...(files.acceleration === 'kvm' ? KVM_ARGUMENTS : ['-accel', 'tcg,thread=multi', '-cpu', 'max']),
    ...[
      '-smp',
      '2',
      '-m',
      String(needs.memoryMiB ?? 2048),
      '-chardev',
      'stdio,id=c,signal=off',
      '-serial',
      'chardev:c',
    ],
    ...['-drive', `file=${files.disk},format=raw,if=none,id=d,cache=writeback,discard=unmap`],
    ...['-device', `virtio-blk-pci,drive=d,bootindex=1,serial=${serialOf(files.disk)}`],
    ...['-uuid', needs.uuid ?? uuidOf(needs)],
    ...(files.seed === undefined ? [] : seedDisk(files.seed)),
    ...ownNetwork(needs.network ?? 2, files.ports),
    ...(needs.link ? linkArguments(needs.link) : []),
    ...['-device', 'virtio-rng-pci'],
    // Resets a guest that hangs; it counts only once the guest began to.
    ...['-device', 'i6300esb', '-action', 'watchdog=reset'],
    ...(needs.secondDisk === undefined ? [] : secondDisk(needs.secondDisk)),
    ...bootArguments(image, needs, files.variables),
  ]
}

/** A network of the machine's own that reaches nothing, but is reached at the forwarded ports. */
function ownNetwork(network: number, ports: ReadonlyMap<number, number>): readonly string[] {
  const forwards = [...ports].map(([guest, here]) => `,hostfwd=tcp:127.0.0.1:${here}-:${guest}`).join('')
  const lastByte = network.toString(16).padStart(2, '0')
  return [
    ...['-netdev', `user,id=n,net=10.0.${network}.0/24,restrict=on${forwards}`],
    ...['-device', `virtio-net-pci,netdev=n,mac=52:54:00:00:00:${lastByte}`],
  ]
}

/** Version 8, which is for values that others make (RFC 9562, 5.8). */
function uuidOf({ folder, name }: MachineNeeds): string {
  const digits = digestOf(resolve(folder, name)).slice(0, 32)
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-8$3-8$4-$5')
}

/** At most 20 characters (virtio 1.3, 5.2.6.1). */
function serialOf(disk: string): string {
  return digestOf(resolve(disk)).slice(0, 20)
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function secondDisk(file: string): readonly string[] {
  const device = `virtio-blk-pci,drive=e,serial=${serialOf(file)}`
  return ['-drive', `file=${file},format=raw,if=none,id=e,cache=writeback,discard=unmap`, '-device', device]
}

function seedDisk(file: string): readonly string[] {
  return ['-drive', `file=${file},format=raw,if=none,id=s,readonly=on`, '-device', 'virtio-blk-pci,drive=s']
}

function bootArguments(image: Image, needs: MachineNeeds, variables: string): readonly string[] {
  const own = needs.kernelArguments ?? []
  const more = [...own, ...(needs.link ? linkKernelArguments(needs.link) : [])].join(' ')
  if (needs.boot === 'kernel') {
    const commandLine = `${image.commandLine} ${more}`.trim()
    return ['-kernel', image.kernel, '-initrd', image.initrd, '-append', commandLine]
  }
  return [
    ...firmware(variables, needs.secureBootVariables !== undefined),
    ...(more === '' ? [] : extraArguments(more)),
  ]
}

function firmware(variables: string, secure: boolean): readonly string[] {
  const code = secure ? FIRMWARE_SECURE : FIRMWARE
  return [
    ...(secure ? ['-global', 'driver=cfi.pflash01,property=secure,value=on'] : []),
    ...['-drive', `if=pflash,format=raw,unit=0,readonly=on,file=${code}`],
    ...['-drive', `if=pflash,format=raw,unit=1,file=${variables}`],
  ]
}

function extraArguments(more: string): readonly string[] {
  return ['-smbios', `type=11,value=io.systemd.stub.kernel-cmdline-extra=${more}`]
}

function prepareDisk(image: Image, needs: MachineNeeds): string {
  const disk = join(needs.folder, `${needs.name}.disk`)
  if (!existsSync(disk)) {
    const partial = `${disk}.partial`
    rmSync(partial, { force: true })
    execFileSync('cp', ['--sparse=always', '--reflink=auto', needs.disk ?? image.disk, partial])
    truncateSync(partial, (needs.diskGiB ?? 8) * 1024 ** 3)
    renameSync(partial, disk)
  }
  return disk
}

function prepareVariables(tools: Tools, needs: MachineNeeds): string {
  const variables = join(needs.folder, `${needs.name}.variables`)
  if (!existsSync(variables)) {
    copyFileSync(needs.secureBootVariables ?? tools.file(VARIABLES), `${variables}.partial`)
    renameSync(`${variables}.partial`, variables)
  }
  return variables
}
