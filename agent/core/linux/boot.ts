/** Which boot this is: the kernel makes an id for each (random(4)) and tells when it began (proc_stat(5), `btime`, seconds). */
import { readFileSync } from 'node:fs'
import type { BootInfo, BootPort } from '../ports.ts'
import { LinuxFault } from './fault.ts'

/** Returns the port that asks the kernel. */
export function kernelBoot(): BootPort {
  return {
    current: async () =>
      bootFrom(
        readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'),
        readFileSync('/proc/stat', 'utf8').slice(0, 256 * 1024),
      ),
  }
}

/** Returns the boot that two files of the kernel tell of; throws LinuxFault `host_unreadable`. Pure. */
export function bootFrom(bootId: string, stat: string): BootInfo {
  const id = bootId.trim()
  const [, seconds] = /^btime (\d{1,12})$/m.exec(stat) ?? []
  if (!/^[0-9a-f-]{36}$/.test(id) || seconds === undefined)
    throw new LinuxFault('host_unreadable', 'the kernel does not say which boot this is')
  return { bootId: id, bootedAt: new Date(Number(seconds) * 1000) }
}
