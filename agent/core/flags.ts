import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { CoreFault } from './fault.ts'

export type CoreFlags = {
  readonly directory: string
  readonly name: string
  readonly addresses: readonly string[]
  readonly gatewayPort: number
  readonly trustPort: number
  readonly userData: readonly string[]
  readonly peerUids: { readonly gateway: number; readonly trust: number }
}

/** Returns core's flags; throws `flag_invalid`, naming the flag. `ownUid` is who may connect unless a flag says otherwise. */
export function parseCoreFlags(args: readonly string[], ownUid: number): CoreFlags {
  const values = parse(args)
  if (values.platform !== 'local') throw invalid('--platform', 'is local here')
  const addresses = values.address ?? []
  if (addresses.length === 0 || addresses.some((one) => isIP(one) === 0))
    throw invalid('--address', 'is an IP address')
  return {
    directory: resolve(required(values.directory, '--directory')),
    name: required(values.name, '--name'),
    addresses,
    gatewayPort: port(values['gateway-port'], '--gateway-port'),
    trustPort: port(values['trust-port'], '--trust-port'),
    userData: values['user-data'] ?? [],
    peerUids: peerUids(values['peer-uid'] ?? [], ownUid),
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

function port(value: string | undefined, flag: string): number {
  const number = /^\d{1,5}$/.test(value ?? '') ? Number(value) : 0
  if (number < 1 || number > 65535) throw invalid(flag, 'is a port from 1 to 65535')
  return number
}

function peerUids(values: readonly string[], ownUid: number): CoreFlags['peerUids'] {
  const uids = { gateway: ownUid, trust: ownUid }
  for (const value of values) {
    const [, name, uid] = /^(gateway|trust)=(\d{1,10})$/.exec(value) ?? []
    if (name !== 'gateway' && name !== 'trust') throw invalid('--peer-uid', 'is gateway=UID or trust=UID')
    uids[name] = Number(uid)
  }
  return uids
}

function invalid(flag: string, message: string): CoreFault {
  return new CoreFault('flag_invalid', `${flag} ${message}`)
}
