import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { CoreFault } from './fault.ts'

export type CoreFlags = {
  /** Only on a real host; then an empty `name` and no `addresses` mean: what the host says. */
  readonly linux?: { readonly runDirectory: string }
  readonly directory: string
  readonly name: string
  readonly addresses: readonly string[]
  readonly gatewayPort: number
  readonly trustPort: number
  readonly userData: readonly string[]
  readonly peerUids: { readonly gateway: number; readonly trust: number }
}

/**
 * Returns core's flags; throws `flag_invalid`, naming the flag. `ownUid` is who may connect unless a flag says otherwise, by a number or by a name
 * that `uidOf` knows.
 */
export function parseCoreFlags(
  args: readonly string[],
  ownUid: number,
  uidOf: (name: string) => number | undefined = () => undefined,
): CoreFlags {
  const values = parse(args)
  const isLinux = isLinuxPlatform(values.platform)
  const linux = { runDirectory: resolve(values['run-directory'] ?? '/run/stele') }
  return {
    ...(isLinux ? { linux } : {}),
    directory: resolve(required(values.directory, '--directory')),
    name: isLinux ? (values.name ?? '') : required(values.name, '--name'),
    addresses: addressesOf(values.address ?? [], isLinux),
    gatewayPort: port(values['gateway-port'], '--gateway-port'),
    trustPort: port(values['trust-port'], '--trust-port'),
    userData: values['user-data'] ?? [],
    peerUids: peerUids(values['peer-uid'] ?? [], ownUid, uidOf),
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      options: {
        platform: { type: 'string' },
        directory: { type: 'string' },
        'run-directory': { type: 'string' },
        name: { type: 'string' },
        address: { type: 'string', multiple: true },
        'gateway-port': { type: 'string' },
        'trust-port': { type: 'string' },
        'user-data': { type: 'string', multiple: true },
        'peer-uid': { type: 'string', multiple: true },
      },
    }).values
  } catch (cause) {
    throw new CoreFault('flag_invalid', 'a flag is not known or lacks its value', { cause })
  }
}

function required(value: string | undefined, flag: string): string {
  if (value === undefined || value === '') throw invalid(flag, 'is required')
  return value
}

function isLinuxPlatform(platform: string | undefined): boolean {
  if (platform !== 'linux' && platform !== 'local') throw invalid('--platform', 'is local or linux')
  return platform === 'linux'
}

function addressesOf(addresses: readonly string[], mayBeEmpty: boolean): readonly string[] {
  if ((addresses.length === 0 && !mayBeEmpty) || addresses.some((one) => isIP(one) === 0))
    throw invalid('--address', 'is an IP address')
  return addresses
}

function port(value: string | undefined, flag: string): number {
  const number = /^\d{1,5}$/.test(value ?? '') ? Number(value) : 0
  if (number < 1 || number > 65535) throw invalid(flag, 'is a port from 1 to 65535')
  return number
}

function peerUids(
  values: readonly string[],
  ownUid: number,
  uidOf: (name: string) => number | undefined,
): CoreFlags['peerUids'] {
  const uids = { gateway: ownUid, trust: ownUid }
  for (const value of values) {
    const [, name, user = ''] = /^(gateway|trust)=(\d{1,10}|[a-z_][a-z0-9_-]{0,31})$/.exec(value) ?? []
    const uid = /^\d+$/.test(user) ? Number(user) : uidOf(user)
    if ((name !== 'gateway' && name !== 'trust') || uid === undefined)
      throw invalid('--peer-uid', 'is gateway=USER or trust=USER, a user of this host')
    uids[name] = uid
  }
  return uids
}

function invalid(flag: string, message: string): CoreFault {
  return new CoreFault('flag_invalid', `${flag} ${message}`)
}
