/**
 * A wire between machines, on loopback multicast: each frame is a datagram. Machines come and go in any order, and a test can listen too.
 */
import { createSocket } from 'node:dgram'
import type { MachineLink } from './machine.ts'

const GROUP = '230.0.0.77'
/** Slot of the card on the bus: after the card of the machine's own network. */
const SLOT = 16
/** What the guest is told to call the card, by its address: names from the bus need rules that the image does not have. */
const CARD = 'wire0'

/** Arguments of QEMU for the card. Pure. */
export function linkArguments(link: MachineLink): readonly string[] {
  return [
    ...['-netdev', `socket,id=l,mcast=${GROUP}:${link.port},localaddr=127.0.0.1`],
    ...['-device', `virtio-net-pci,netdev=l,mac=${link.mac},addr=0x${SLOT.toString(16)}`],
  ]
}

/** Kernel arguments that give the card its name and address; systemd-network-generator(8) reads them. Pure. */
export function linkKernelArguments(link: MachineLink): readonly string[] {
  return [`ifname=${CARD}:${link.mac}`, `ip=${link.address}:::${link.mask}::${CARD}:none`]
}

export type Wire = AsyncDisposable & {
  /** Returns the first frame, from now on, whose sender is `mac`. Throws after the deadline. */
  frameFrom(mac: string, deadlineMs: number): Promise<Buffer>
}

/** Listens on a wire. */
export async function listenOnWire(port: number): Promise<Wire> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(port, GROUP, () => {
      socket.addMembership(GROUP, '127.0.0.1')
      resolve()
    })
  })
  return {
    frameFrom(mac, deadlineMs) {
      const sender = Buffer.from(mac.replaceAll(':', ''), 'hex')
      return new Promise((resolve, reject) => {
        const close = () => {
          clearTimeout(timer)
          socket.off('message', onMessage)
        }
        const onMessage = (frame: Buffer) => {
          // An Ethernet header: receiver, sender, type.
          if (!frame.subarray(6, 12).equals(sender)) return
          close()
          resolve(frame)
        }
        const timer = setTimeout(() => {
          close()
          reject(new Error(`no frame from ${mac} in ${deadlineMs} ms`))
        }, deadlineMs)
        socket.on('message', onMessage)
      })
    },
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}
