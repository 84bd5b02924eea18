import * as grpc from '@grpc/grpc-js'

/** Headers that pass from a client to core. Everything else is dropped, so that no client writes what core believes of the gateway. */
const PASSES: readonly string[] = ['user-agent']

export const CERTIFICATE_HEADER = 'stele-peer-certificate-bin'
export const ADDRESS_HEADER = 'stele-peer-address'

/** More than clients of ours send; a header list of more is refused. */
export const MAX_METADATA_BYTES = 16 * 1024

/** Bytes of names and values, with 32 for each pair, as HTTP/2 counts them (RFC 9113 section 6.5.2). */
export function metadataBytes(metadata: grpc.Metadata): number {
  return Object.entries(metadata.toHttp2Headers()).reduce((sum, [name, value]) => {
    const values = Array.isArray(value) ? value : [value ?? '']
    return sum + values.reduce<number>((size, one) => size + name.length + String(one).length + 32, 0)
  }, 0)
}

export type Caller = { readonly certificate: Buffer; readonly address: string; readonly requestId: string }

/** What core gets to see: the allowed headers of the client, and who the client is. Core waits for nothing else of the gateway. */
export function forwardedMetadata(incoming: grpc.Metadata, caller: Caller): grpc.Metadata {
  const metadata = new grpc.Metadata({ waitForReady: true })
  for (const name of PASSES) {
    const [value] = incoming.get(name)
    if (typeof value === 'string') metadata.set(name, value.slice(0, 256))
  }
  metadata.set(CERTIFICATE_HEADER, caller.certificate)
  metadata.set(ADDRESS_HEADER, caller.address)
  metadata.set('stele-request-id', caller.requestId)
  return metadata
}

/** True for a header that only the gateway may send. */
export function isReserved(name: string): boolean {
  return name.toLowerCase().startsWith('stele-')
}
