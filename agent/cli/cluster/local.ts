import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatEndpoint } from '#kit/endpoint'
import { Lifetime } from '#kit/lifetime'
import { LocalMachine } from './machine.ts'
import { freePort } from './port.ts'

const GATEWAY_PORT = 50_000
const TRUST_PORT = 50_001

/** Where a node is found, settled before its user data is rendered. */
export type NodePlace = {
  readonly name: string
  readonly address: string
  readonly gatewayPort: number
  readonly trustPort: number
  readonly directory: string
}

/**
 * Gives each name an address of its own in the /24 `subnet` of 127.0.0.0/8 and free ports, the usual ones where they are free. Nodes need addresses of their own,
 * since a certificate names addresses and no node may name another's.
 */
export async function placeNodes(
  names: readonly string[],
  directory: string,
  subnet = '127.0.0',
): Promise<readonly NodePlace[]> {
  const places: NodePlace[] = []
  for (const [index, name] of names.entries()) {
    const address = `${subnet}.${index + 1}`
    const gatewayPort = await freePort(address, GATEWAY_PORT)
    const trustPort = await freePort(address, TRUST_PORT)
    places.push({ name, address, gatewayPort, trustPort, directory: join(directory, name) })
  }
  return places
}

export function gatewayEndpoint(place: NodePlace): string {
  return formatEndpoint({ host: place.address, port: place.gatewayPort })
}

export function trustEndpoint(place: NodePlace): string {
  return formatEndpoint({ host: place.address, port: place.trustPort })
}

export type LocalClusterOptions = {
  /** Folder that holds the bundles core.cjs, gateway.cjs, trust.cjs and init.cjs. */
  readonly bundles: string
  readonly onRestart: (node: string, exit: string) => void
  readonly onPowerOff: (node: string) => void
}

/** Local machines that run the real daemons as child processes; what a cloud is to a cluster elsewhere. */
export class LocalCluster implements AsyncDisposable {
  readonly #options: LocalClusterOptions
  readonly #lifetime = new Lifetime()

  constructor(options: LocalClusterOptions) {
    this.#options = options
  }

  /**
   * Writes the machine's NoCloud seed and its `node.json`, and powers it on. The user data is all that the node is told about itself; it is
   * written 0600, as it holds secrets.
   */
  async powerOn(place: NodePlace, userData: string): Promise<LocalMachine> {
    const seed = join(place.directory, 'seed')
    for (const folder of ['seed', 'log', 'run', 'state'])
      await mkdir(join(place.directory, folder), { recursive: true, mode: 0o700 })
    await writeFile(join(seed, 'user-data'), userData, { mode: 0o600 })
    await writeFile(join(seed, 'meta-data'), `instance-id: ${place.name}\nlocal-hostname: ${place.name}\n`, {
      mode: 0o600,
    })
    await writeFile(
      join(place.directory, 'node.json'),
      JSON.stringify(this.#describe(place, seed), null, 2),
      { mode: 0o600 },
    )
    const machine = new LocalMachine({
      directory: place.directory,
      init: this.#program('init'),
      onRestart: (exit) => this.#options.onRestart(place.name, exit),
      onPowerOff: () => this.#options.onPowerOff(place.name),
    })
    this.#lifetime.use(machine)
    machine.start()
    return machine
  }

  #describe(place: NodePlace, seed: string): unknown {
    return {
      version: 1,
      name: place.name,
      addresses: [place.address],
      gatewayPort: place.gatewayPort,
      trustPort: place.trustPort,
      userData: [seed],
      programs: {
        core: this.#program('core'),
        gateway: this.#program('gateway'),
        trust: this.#program('trust'),
      },
    }
  }

  /** Memory flags as on a real node: the daemons are nearly idle, so a small heap is worth more than throughput. */
  #program(name: string): readonly string[] {
    return [
      process.execPath,
      '--max-semi-space-size=4',
      '--max-old-space-size=96',
      '--disable-proto=delete',
      join(this.#options.bundles, `${name}.cjs`),
    ]
  }

  /** Powers every machine off, the last one first. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lifetime[Symbol.asyncDispose]()
  }
}
