/**
 * Machines of QEMU that outlive the command that starts them. Nothing but the machine's own folder is needed to find one again, and to end it.
 *
 * Invariant: a process is ended only after its command line was seen to name the machine's own pid file: a number that went to another process
 * is never signalled.
 */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, join } from 'node:path'
import type { Clock } from '#kit/clock'
import { CliFault } from '../fault.ts'
import type { Acceleration } from './acceleration.ts'
import { prepareFiles, qemuArguments, type PrepareInput } from './qemu.ts'
import { outliving } from './tool.ts'

/** Where a machine's files are: those of `name` in `folder`. */
export type MachinePlace = { readonly folder: string; readonly name: string }
export type RunningMachine = { readonly pid: number; readonly acceleration: Acceleration }
export type Waiting = { readonly clock: Clock; readonly signal: AbortSignal }

const QEMU = 'qemu-system-x86_64'
const POLL_MS = 50
const PROC = '/proc'

/** The guest's console since the machine was turned on last. */
export function consoleFile({ folder, name }: MachinePlace): string {
  return join(folder, `${name}.console.log`)
}

export function pidFile({ folder, name }: MachinePlace): string {
  return join(folder, `${name}.pid`)
}

/** What QEMU itself complained about. */
export function complaintFile({ folder, name }: MachinePlace): string {
  return join(folder, `${name}.qemu.log`)
}

/** Turns a machine on and returns when its ports are open. Throws CliFault `machine_failed` with what QEMU said. */
export async function startDetached(input: PrepareInput, waiting: Waiting): Promise<RunningMachine> {
  const { image, needs, ports } = input
  const files = await prepareFiles(input)
  const tools = outliving(input.tools)
  waiting.signal.throwIfAborted()
  const [program = '', ...args] = [
    ...[...tools.command([needs.folder, image.folder]), QEMU],
    ...[...qemuArguments(image, needs, files), '-pidfile', pidFile(needs)],
  ]
  keepPrevious(consoleFile(needs))
  const output = openSync(consoleFile(needs), 'a', 0o600)
  const complaint = openSync(complaintFile(needs), 'w', 0o600)
  // Its own session: neither a Ctrl-C nor the end of the terminal reaches it.
  const child = spawn(program, args, { detached: true, cwd: '/', stdio: ['ignore', output, complaint] })
  closeSync(output)
  closeSync(complaint)
  let end: string | undefined
  child.once('error', (error) => (end = error.message))
  child.once('exit', (code, signal) => (end = signal ?? `exit code ${code}`))
  child.unref()
  for (;;) {
    if (end !== undefined) throw ended(needs, end)
    const machine = findMachine(needs)
    if (machine !== undefined && (await allListen([...ports.values()]))) return machine
    await waiting.clock.sleep(POLL_MS, waiting.signal)
  }
}

/** Returns the process of a machine, or undefined when it is off. */
export function findMachine(place: MachinePlace): RunningMachine | undefined {
  const file = pidFile(place)
  // The file says where to look first. It is not there yet, or not any more, when somebody was killed at a bad moment.
  for (const pid of [readPid(file), ...allPids()]) {
    const acceleration = pid === undefined ? undefined : accelerationOf(commandOf(pid), file)
    if (pid !== undefined && acceleration !== undefined) return { pid, acceleration }
  }
  return undefined
}

/** How the machine of a pid file runs when `command` is its QEMU; undefined for any other command. Pure. */
export function accelerationOf(command: readonly string[], file: string): Acceleration | undefined {
  const at = command.lastIndexOf('-pidfile')
  // A program that enters a tools tree has the same words in its command, after others.
  if (basename(command[0] ?? '') !== QEMU || at < 0 || command[at + 1] !== file) return undefined
  return command.includes('kvm') ? 'kvm' : 'emulation'
}

/** Cuts the power: QEMU writes out what the guest has written, the guest gets no word. Returns when the process is gone; true when there was one. */
export async function cutPower(
  place: MachinePlace,
  waiting: Waiting & { readonly graceMs: number },
): Promise<boolean> {
  const { clock, graceMs } = waiting
  const wasOn = findMachine(place) !== undefined
  const until = clock.monotonic() + graceMs
  for (let machine = findMachine(place); machine !== undefined; machine = findMachine(place)) {
    signalTo(machine.pid, clock.monotonic() < until ? 'SIGTERM' : 'SIGKILL')
    await clock.sleep(POLL_MS, waiting.signal)
  }
  return wasOn
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'ESRCH') return
    throw new CliFault('machine_failed', `the machine of process ${pid} cannot be ended`, {
      hint: 'it runs as another user: ask as that user, or as root',
      cause,
    })
  }
}

function ended(place: MachinePlace, end: string): CliFault {
  const said = readText(complaintFile(place)).trim().slice(-1500)
  return new CliFault(
    'machine_failed',
    `${place.name} did not start (${end})${said === '' ? '' : `\n${said}`}`,
    {
      hint: `console: ${consoleFile(place)}`,
    },
  )
}

function keepPrevious(file: string): void {
  if (existsSync(file)) renameSync(file, file.replace(/\.log$/, '.previous.log'))
}

function readPid(file: string): number | undefined {
  const text = readText(file).trim()
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

function allPids(): readonly number[] {
  return readdirSync(PROC)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

function commandOf(pid: number): readonly string[] {
  return readText(join(PROC, String(pid), 'cmdline')).split('\0')
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // Not there, or gone meanwhile, as a process may be.
    return ''
  }
}

async function allListen(ports: readonly number[]): Promise<boolean> {
  const answers = await Promise.all(ports.map(listens))
  return answers.every((answer) => answer)
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}
