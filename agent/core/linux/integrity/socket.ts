/** Sockets that wait, from the text of /proc/net (proc_pid_net(5)). Pure. */

/** States of sockets in the kernel: of TCP one that listens, of UDP one that is bound and has no peer (net/tcp_states.h). */
const WAITING = { tcp: '0A', tcp6: '0A', udp: '07', udp6: '07' } as const

export type Protocol = keyof typeof WAITING
export const PROTOCOLS = Object.keys(WAITING) as readonly Protocol[]

export type BoundSocket = {
  readonly protocol: Protocol
  readonly address: string
  readonly port: number
  readonly inode: string
}

/** The waiting sockets of one table. A line that is not the kernel's is left out. */
export function parseSockets(protocol: Protocol, text: string): readonly BoundSocket[] {
  return text.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    const [, hex, port] = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/.exec(local) ?? []
    if (hex === undefined || port === undefined || state !== WAITING[protocol]) return []
    if (inode === undefined || !/^\d+$/.test(inode)) return []
    return [{ protocol, address: addressOf(hex), port: Number.parseInt(port, 16), inode }]
  })
}

/** Words of 32 bits in the byte order of the host, which is little-endian on everything an image is made for. */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) =>
    (word.match(/../g) ?? []).reverse().map((pair) => Number.parseInt(pair, 16)),
  )
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  )
  // The short form of RFC 5952, which the URL parser makes.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}
