/**
 * What core says to systemd over the socket of sd_notify(3): that it is ready, what it does, and that it is alive.
 *
 * Invariant: saying it never waits and never fails core; without such a socket nothing is said.
 */
import koffi from 'koffi'
import type { Clock } from '#kit/clock'

/** Linux on every architecture that Node runs on except alpha, mips, parisc and sparc. */
const AF_UNIX = 1
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000
const MSG_DONTWAIT_NOSIGNAL = 0x40 | 0x4000
const MAX_PATH = 108

export type Notify = (message: string) => void

/** Returns the sender for `NOTIFY_SOCKET`, whose value is `address`: a path, or a name in the abstract space that begins with `@`. */
export function openNotify(address: string | undefined): Notify {
  const target = address === undefined ? undefined : socketAddress(address)
  if (target === undefined) return () => undefined
  try {
    const libc = koffi.load('libc.so.6')
    const socket = libc.func('int socket(int, int, int)')
    const sendto = libc.func('int64_t sendto(int, const uint8_t *, uint64_t, int, const uint8_t *, uint32_t)')
    const descriptor: unknown = socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0)
    return (message) => {
      const bytes = Buffer.from(message)
      sendto(descriptor, bytes, bytes.length, MSG_DONTWAIT_NOSIGNAL, target, target.length)
    }
  } catch {
    return () => undefined
  }
}

/** Returns the `sockaddr_un` of an address (unix(7)), or undefined for one that is none. Pure. */
export function socketAddress(address: string): Buffer | undefined {
  const isAbstract = address.startsWith('@')
  if (!isAbstract && !address.startsWith('/')) return undefined
  const path = Buffer.from(isAbstract ? `\0${address.slice(1)}` : `${address}\0`)
  if (path.length > MAX_PATH) return undefined
  const family = Buffer.alloc(2)
  // The byte order is the host's own, which is little-endian on everything an image is made for.
  family.writeUInt16LE(AF_UNIX)
  return Buffer.concat([family, path])
}

/**
 * Tells that core is alive, twice in the time that `WATCHDOG_USEC` gives, until the signal aborts. A loop that hangs tells nothing, and systemd
 * starts core anew.
 */
export async function keepAlive(
  notify: Notify,
  options: { readonly watchdogUsec: string | undefined; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const { watchdogUsec, clock, signal } = options
  if (watchdogUsec === undefined || !/^[1-9]\d{0,15}$/.test(watchdogUsec)) return
  const everyMs = Math.max(1, Number(watchdogUsec) / 2000)
  while (!signal.aborted) {
    notify('WATCHDOG=1')
    await clock.sleep(everyMs, signal).catch(() => undefined)
  }
}
