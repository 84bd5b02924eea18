/** The finished disk: the boot loader's partition filled, and the disk in the formats that the profile names. */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { StepContext } from '../run.ts'
import { Tree } from '../tree.ts'
import { layoutParameters, repart } from './repart.ts'

const parameters = layoutParameters.extend({ outputs: z.array(z.enum(['raw', 'qcow2'])) })

/** No menu, no editor of the command line, no enrolment of keys that happen to lie on the disk. */
const LOADER_CONF = 'timeout 0\nconsole-mode keep\neditor no\nsecure-boot-enroll off\n'

/** Writes `disk.raw`, and `disk.qcow2` when the profile names it. */
export async function makeDisk(context: StepContext): Promise<void> {
  const { outputs, ...layout } = parameters.parse(context.step.parameters)
  const { signal } = context
  const disk = join(context.out, 'disk.raw')
  await context.host('cp', ['--sparse=always', join(context.input('verity'), 'disk.raw'), disk], { signal })
  const esp = fillEsp(context, layout.version)
  esp.setTimes(layout.epoch)
  // The root is in place from the first pass, and this one leaves it alone; its definition must name a file all the same.
  await repart(context, layout, { disk, root: disk, esp: esp.folder })
  rmSync(join(context.out, 'definitions'), { recursive: true })
  esp.remove('')
  if (outputs.includes('qcow2')) {
    const file = join(context.out, 'disk.qcow2')
    await context.tree('qemu-img', ['convert', '-O', 'qcow2', '-c', disk, file], { signal })
  }
}

function fillEsp(context: StepContext, version: string): Tree {
  const esp = new Tree(join(context.out, 'esp'))
  const uki = context.input('uki')
  for (const folder of ['EFI/BOOT', 'EFI/systemd', 'EFI/Linux', 'loader'])
    mkdirSync(esp.at(folder), { recursive: true })
  copyFileSync(join(uki, 'loader.efi'), esp.at('EFI/BOOT/BOOTX64.EFI'))
  copyFileSync(join(uki, 'loader.efi'), esp.at('EFI/systemd/systemd-bootx64.efi'))
  copyFileSync(join(uki, 'stele.efi'), esp.at(`EFI/Linux/stele_${version}.efi`))
  writeFileSync(esp.at('loader/loader.conf'), LOADER_CONF)
  return esp
}
