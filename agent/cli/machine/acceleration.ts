/**
 * Whether KVM really works here. A device node says little, and so does a machine that starts: without nested virtualization that is whole, firmware
 * runs and a kernel hangs. So the image's own kernel is asked for its first line.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Image } from './image.ts'
import type { Tools } from './tool.ts'

export type Acceleration = 'kvm' | 'emulation'

/** Time for a kernel to print its first line; it takes well under a second where KVM works. */
const PROBE_MS = 6000

const known = new Map<string, Promise<Acceleration>>()

/** Asked once for an image in a process. */
export function findAcceleration(image: Image, tools: Tools): Promise<Acceleration> {
  const answer = known.get(image.kernel) ?? probe(image, tools)
  known.set(image.kernel, answer)
  return answer
}

/** The processor of a machine under KVM. Some hosts refuse to set the register of the feature that is off here. */
export const KVM_ARGUMENTS: readonly string[] = ['-accel', 'kvm', '-cpu', 'host,arch-capabilities=off']

function probe(image: Image, tools: Tools): Promise<Acceleration> {
  if (!existsSync('/dev/kvm')) return Promise.resolve('emulation')
  const [program = '', ...args] = [
    ...tools.command([image.folder]),
    ...[
      'qemu-system-x86_64',
      '-no-user-config',
      '-nodefaults',
      '-display',
      'none',
      '-machine',
      'q35',
      ...KVM_ARGUMENTS,
    ],
    ...['-m', '512', '-chardev', 'stdio,id=c,signal=off', '-serial', 'chardev:c', '-kernel', image.kernel],
    ...['-append', 'console=ttyS0 earlyprintk=serial panic=-1'],
  ]
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
    let printed = ''
    const settle = (answer: Acceleration) => {
      clearTimeout(timer)
      child.kill('SIGKILL')
      resolve(answer)
    }
    const timer = setTimeout(() => settle('emulation'), PROBE_MS)
    child.once('error', () => settle('emulation'))
    child.once('exit', () => settle('emulation'))
    child.stdout.on('data', (chunk: Buffer) => {
      printed = (printed + chunk.toString('latin1')).slice(-4096)
      if (printed.includes('Linux version')) settle('kvm')
    })
  })
}
