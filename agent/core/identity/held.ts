import { X509Certificate } from 'node:crypto'
import { renewalTime, verifyNodeCertificate } from '#pki'
import type { NodeView } from '../node-view.ts'
import type { StoredCertificate } from './identity-store.ts'

/** The certificate that the node holds, with what it says. */
export type HeldIdentity = {
  readonly stored: StoredCertificate
  readonly serial: string
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly notAfter: Date
  readonly renewAt: Date
}

/** Returns what a stored certificate says, or undefined when it does not verify now: expired, or of an authority it was not kept with. Pure. */
export function readIdentity(
  stored: StoredCertificate,
  options: { readonly now: Date; readonly jitter: number },
): HeldIdentity | undefined {
  const verified = verifyNodeCertificate(stored.certificatePem, {
    authorities: stored.authorities,
    now: options.now,
  })
  if (!verified.ok) return undefined
  const { serial, commonName, dnsNames, ipAddresses, notAfter } = verified.value
  const notBefore = new Date(new X509Certificate(stored.certificatePem).validFrom)
  const renewAt = renewalTime({ notBefore, notAfter, jitter: options.jitter })
  return { stored, serial, commonName, dnsNames, ipAddresses, notAfter, renewAt }
}

/** Whether the certificate names what the configuration wants named, and trusts whom it wants trusted. Pure. */
export function matchesView(held: HeldIdentity, view: NodeView, addresses: readonly string[]): boolean {
  // A worker gets its own name and addresses only; extra names are for those who sign for themselves.
  const own = view.authorityKey !== undefined
  const names = own ? [view.name, ...view.extraNames] : [view.name]
  const ips = own ? [...addresses, ...view.extraAddresses] : addresses
  return (
    held.commonName === view.name &&
    names.every((name) => held.dnsNames.includes(name)) &&
    ips.every((ip) => held.ipAddresses.includes(ip)) &&
    view.authorities.every((pem) => held.stored.authorities.includes(pem))
  )
}
