/** The one way of these tests to a machine: a test says what it needs, and gets a machine of QEMU or of User-Mode Linux that is used alike. */
import type { Image } from '../../agent/cli/machine/image.ts'
import type { Machine, MachineNeeds } from '../../agent/cli/machine/machine.ts'
import { startQemu } from '../../agent/cli/machine/qemu.ts'
import { startUml, type UmlNeeds } from '../../agent/cli/machine/uml.ts'
import { imageUnderTest, toolsUnderTest, umlImageUnderTest } from './under-test.ts'

/**
 * `boot` decides what runs it. `firmware`: the whole chain in QEMU. `kernel`: the image's kernel, initrd and verified root in QEMU, 3 s sooner. `uml`: the
 * same root under Linux as a program, at the speed of the host: no firmware, no verity, no wire to other machines.
 */
export type TestMachineNeeds =
  (MachineNeeds & { /** Another image than the one under test. */ readonly image?: Image }) | UmlMachineNeeds

type UmlMachineNeeds = UmlNeeds & { readonly boot: 'uml' }

/**
 * Starts the machine that `needs` asks for; it is running when this returns. One started again under the same name and folder has the disk as the last
 * one left it. Throws when the image is not built, with the command that builds it.
 */
export async function startMachine(needs: TestMachineNeeds): Promise<Machine> {
  if (needs.boot === 'uml') return await startUml(umlImageUnderTest(), toolsUnderTest(), needs)
  return await startQemu(needs.image ?? imageUnderTest(), toolsUnderTest(), needs)
}
