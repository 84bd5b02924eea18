/** A real node under systemd: puts the ports of this folder together, and finds out what the machine is. */
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '#kit/clock'
import type { Log } from '#kit/log'
import type { Platform, WatchedNode } from '../ports.ts'
import { stateFileSystem, type FileSystem } from '../store/file-system.ts'
import { JsonFile } from '../store/json-file.ts'
import { accountsIn, groupOf } from './account.ts'
import { currentAddresses, lastKnown, waitForAddress } from './address.ts'
import { kernelBoot } from './boot.ts'
import { consoleText, hostConsole, type ConsoleWriter } from './console.ts'
import { recogniseHardware, type HardwareFindings } from './hardware.ts'
import { linuxHost } from './host.ts'
import { linuxIntegrity } from './integrity/measure.ts'
import { journalLogs } from './journal.ts'
import { kernelArguments, noCloudHints } from './kernel-argument.ts'
import { chooseName, keptName, machineSchema, nameInMetaData } from './name.ts'
import { hostPower, openSysrq } from './power.ts'
import { linuxResources } from './resource.ts'
import { hostPrograms, type Programs } from './run.ts'
import { hostSeeds, readMetaData, type SeedPort } from './seed-disk.ts'
import { systemdServices } from './service.ts'
import { makeSharedFolders, shareSocket, sharingFiles } from './share.ts'
import { userDataSources } from './user-data.ts'

export type LinuxOptions = {
  /** STATE's folder of core. */
  readonly directory: string
  readonly runDirectory: string
  /** Empty: found on the host. */
  readonly name: string
  readonly addresses: readonly string[]
  readonly userData: readonly string[]
  readonly peerUids: { readonly gateway: number; readonly trust: number }
  readonly version: string
  readonly files: FileSystem
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const ADDRESS_WAIT_MS = 20_000
const ADDRESS_POLL_MS = 5_000
/** A console is read by people. */
const CONSOLE_INTERVAL_MS = 1_000
const PROGRAMS = ['systemctl', 'journalctl', 'mount', 'umount'] as const

/** Returns the platform, after waiting at most 20 seconds for the first address of the host. */
export async function linuxPlatform(options: LinuxOptions): Promise<Platform> {
  const { directory, runDirectory, peerUids, files, clock, log, signal } = options
  const run = (...parts: string[]) => join(runDirectory, ...parts)
  const paths = {
    state: directory,
    coreGatewaySocket: run('core', 'gateway.sock'),
    coreTrustSocket: run('core', 'trust.sock'),
    gatewayIdentity: run('gateway', 'identity.json'),
    trustIdentity: run('trust', 'identity.json'),
  }
  const accounts = accountsIn(textOf('/etc/passwd'))
  const groups = { gateway: groupOf(accounts, peerUids.gateway), trust: groupOf(accounts, peerUids.trust) }
  const identities = [
    { path: paths.gatewayIdentity, gid: groups.gateway },
    { path: paths.trustIdentity, gid: groups.trust },
  ]
  makeSharedFolders(identities)

  const programs = hostPrograms()
  const boot = kernelBoot()
  const { bootId } = await boot.current({ signal })
  const seeds = hostSeeds({ programs, folder: run('core') })
  const facts = { commandLine: textOf('/proc/cmdline'), serial: textOf('/sys/class/dmi/id/product_serial') }
  const hardware = await recogniseHardware({
    ...{ directory, commandLine: facts.commandLine },
    ...{ programs, log, signal },
  })
  const addresses = options.addresses.length > 0 ? () => options.addresses : lastKnown(currentAddresses)
  await waitForAddress({ addresses, limitMs: ADDRESS_WAIT_MS, clock, signal })
  const name = await keptName(
    new JsonFile(stateFileSystem, join(directory, 'boot', 'machine.json'), machineSchema),
    () => findName(options.name, facts, seeds, { log, signal }),
  )
  const refused = { settings: [] as readonly string[], onChange: () => undefined as void }
  const onRefused = (settings: readonly string[]) => {
    refused.settings = settings
    refused.onChange()
  }
  return {
    ports: {
      platform: 'linux',
      services: systemdServices({ programs, boot, clock }),
      power: hostPower({ programs, sysrq: openSysrq(), clock, log }),
      boot,
      resources: linuxResources({ programs }),
      integrity: linuxIntegrity({ programs }),
      logs: journalLogs({ programs, bootId, audit: join(directory, 'log'), clock }),
      host: linuxHost({ files, onRefused }),
      userData: userDataSources({ ...facts, flags: options.userData, seeds, clock }),
    },
    paths,
    loss: hardware.loss,
    // Asked each time: a lease may bring another address, and the certificate then follows.
    machine: {
      name,
      id: hardware.machineId,
      get addresses() {
        return addresses()
      },
    },
    sharedFiles: sharingFiles(files, identities),
    shareSockets: () => {
      shareSocket({ path: paths.coreGatewaySocket, gid: groups.gateway })
      shareSocket({ path: paths.coreTrustSocket, gid: groups.trust })
    },
    watch: async (node, { signal: running }) => {
      refused.onChange = () => reportSettings(node, refused.settings)
      refused.onChange()
      reportPrograms(node, programs)
      reportHardware(node, hardware.findings)
      await Promise.all([
        watchAddresses(node, { clock, signal: running }),
        showOnConsole(node, { write: hostConsole(), version: options.version, clock, signal: running }),
      ])
    },
  }
}

type Facts = { readonly commandLine: string; readonly serial: string }

async function findName(
  given: string,
  facts: Facts,
  seeds: SeedPort,
  options: { readonly log: Log; readonly signal: AbortSignal },
): Promise<string> {
  const { log, signal } = options
  const hints = [...kernelArguments(facts.commandLine, 'ds').map((value) => `ds=${value}`), facts.serial]
  const metaData = await readMetaData(seeds, { signal }).catch((error: unknown) => {
    signal.throwIfAborted()
    log.warn('meta-data cannot be read', { error })
    return undefined
  })
  const candidates = [
    given,
    ...hints.map((text) => noCloudHints(text)?.hostname),
    metaData === undefined ? undefined : nameInMetaData(metaData),
    textOf('/proc/sys/kernel/hostname'),
  ]
  // Both: firmware without an identity of its own tells the same one everywhere.
  return chooseName(candidates, `${textOf('/sys/class/dmi/id/product_uuid')} ${firstCard()}`)
}

function firstCard(): string {
  const cards = Object.entries(networkInterfaces()).sort(([a], [b]) => (a < b ? -1 : 1))
  return cards.flatMap(([, all]) => all ?? []).find((one) => !one.internal)?.mac ?? 'no card'
}

/** Makes core look again when the host's addresses change: nothing tells it. */
async function watchAddresses(
  node: WatchedNode,
  options: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const { clock, signal } = options
  let known = node.machine.addresses.join()
  while (!signal.aborted) {
    await clock.sleep(ADDRESS_POLL_MS, signal).catch(() => undefined)
    const now = node.machine.addresses.join()
    if (now !== known) node.change.notify()
    known = now
  }
}

/** Writes to the console whenever what it would say is something else. */
export async function showOnConsole(
  node: WatchedNode,
  options: {
    readonly write: ConsoleWriter
    readonly version: string
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { write, version, clock, signal } = options
  let shown = ''
  while (!signal.aborted) {
    const seen = node.change.version
    const text = consoleText(node, { version })
    if (text !== shown) write(text)
    shown = text
    await clock.sleep(CONSOLE_INTERVAL_MS, signal).catch(() => undefined)
    await node.change.beyond(seen, signal).catch(() => undefined)
  }
}

function reportHardware(node: WatchedNode, findings: HardwareFindings): void {
  for (const [code, finding] of Object.entries(findings)) node.setFinding(code, finding)
}

function reportSettings(node: WatchedNode, settings: readonly string[]): void {
  node.setFinding(
    'setting_refused',
    settings.length === 0
      ? undefined
      : {
          message: `the kernel did not take ${settings.join(', ')}`,
          remedy: 'correct sysctls in the configuration',
        },
  )
}

function reportPrograms(node: WatchedNode, programs: Programs): void {
  const missing = PROGRAMS.filter((name) => programs.find(name) === undefined)
  node.setFinding(
    'program_missing',
    missing.length === 0
      ? undefined
      : { message: `the image lacks ${missing.join(', ')}`, remedy: 'use an image that has them' },
  )
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
