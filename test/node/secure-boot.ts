/** Keys of Secure Boot for a test, and firmware variables in which they are enrolled: what an owner of machines does once. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runTool, type Tools } from '../../agent/cli/machine/tool.ts'

/** An owner of variables, as the UEFI specification wants one for each list of certificates. */
const OWNER = '5b1d6f0e-6f0a-4e0c-9d0c-2f6a1c7e9b34'
const VARIABLES = '/usr/share/OVMF/OVMF_VARS_4M.fd'

/** Makes `db.key` and `db.crt` in a new folder; the build signs with them. */
export async function makeSigningKeys(tools: Tools, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  await runTool(
    tools,
    [
      ...['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-sha256', '-days', '30'],
      ...['-subj', '/CN=test signer', '-keyout', join(folder, 'db.key'), '-out', join(folder, 'db.crt')],
    ],
    { binds: [folder] },
  )
}

/** Writes firmware variables with the certificate as PK, KEK and db and Secure Boot on, and returns the path. */
export async function enrolKeys(tools: Tools, folder: string): Promise<string> {
  const variables = join(folder, 'secure.variables')
  const certificate = join(folder, 'db.crt')
  await runTool(
    tools,
    [
      ...['virt-fw-vars', '--input', VARIABLES, '--output', variables, '--secure-boot'],
      ...['--set-pk', OWNER, certificate, '--add-kek', OWNER, certificate, '--add-db', OWNER, certificate],
    ],
    { binds: [folder] },
  )
  return variables
}

/** Offset in the disk image of the first place where `bytes` lie. Throws when they lie nowhere. */
export function offsetOf(disk: Buffer, bytes: Buffer): number {
  const at = disk.indexOf(bytes)
  if (at < 0) throw new Error('the disk does not hold these bytes in one piece')
  return at
}

/** Writes a copy of a disk with one bit flipped. */
export function flipBit(disk: Buffer, at: number, file: string): void {
  const copy = Buffer.from(disk)
  copy[at] = (copy[at] ?? 0) ^ 1
  writeFileSync(file, copy)
}
