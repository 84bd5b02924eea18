/**
 * A machine that boots an image. One shape for every kind of machine, so that who starts one says what it needs and not how it is made.
 *
 * Invariants: a machine's network reaches nothing but the forwarded ports and its wire; its disk is a file of the folder that was named.
 */
import type { MachineConsole } from './console.ts'

export type MachineNeeds = {
  /** `firmware`: OVMF, boot loader, UKI. `kernel`: the same kernel, initrd and command line, started directly: 3 s sooner, no firmware. */
  readonly boot: 'firmware' | 'kernel'
  /** Name of its files in the folder; a machine started again under the name has the disk as it was left. */
  readonly name: string
  readonly folder: string
  readonly memoryMiB?: number
  readonly diskGiB?: number
  /** Ports of the guest to reach from here. */
  readonly ports?: readonly number[]
  /**
   * Which of the networks 10.0.N.0/24 is the machine's own, 2 to 254; default 2. Two machines of one cluster need two: the address of a node is in its
   * certificate, and no other node may have it.
   */
  readonly network?: number
  /** User data, on a NoCloud disk. */
  readonly userData?: string
  /** Further kernel arguments; by the firmware's tables with `firmware`, where Secure Boot refuses them. */
  readonly kernelArguments?: readonly string[]
  /** Firmware variables with the owner's keys enrolled, and Secure Boot on. */
  readonly secureBootVariables?: string
  /** A second network card, on a wire that all machines with the same port share. Needs a kernel that takes further arguments. */
  readonly link?: MachineLink
  /** A disk to boot instead of a copy of the image's. */
  readonly disk?: string
  /** UUID of the firmware; all zeros for firmware that has none. Default: one that is always the same for this name in this folder. */
  readonly uuid?: string
  /** A second disk: the file itself, in the folder, which the machine may write to. */
  readonly secondDisk?: string
}

export type MachineLink = {
  /** Number of the wire: a UDP port of loopback multicast. */
  readonly port: number
  /** The card's address, as six pairs of hexadecimal digits. */
  readonly mac: string
  /** The guest's address on the wire and its mask, such as 192.168.77.11 and 255.255.255.0. */
  readonly address: string
  readonly mask: string
}

export type Machine = AsyncDisposable & {
  readonly console: MachineConsole
  /** Port here of a port of the guest. Throws for one that was not asked for. */
  port(guest: number): number
  /** The power fails: nothing is flushed. Returns when the machine is gone. */
  powerCut(): Promise<void>
  /** Settles when the machine ended by itself. */
  readonly ended: Promise<void>
  /** How the machine's processors run: `native` are programs of the host itself, as under User-Mode Linux; emulation is some ten times slower. */
  readonly acceleration: 'kvm' | 'emulation' | 'native'
}
