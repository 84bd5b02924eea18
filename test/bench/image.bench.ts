/** What an image costs: its bytes by component, the time from power-on to an answer, the parts of the boot, and the memory of an idle guest. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ResourceServiceGetResponse } from '#api'
import type { ClientTls } from '#rpc'
import type { Image } from '../../agent/cli/machine/image.ts'
import type { Machine } from '../../agent/cli/machine/machine.ts'
import { startQemu } from '../../agent/cli/machine/qemu.ts'
import type { Tools } from '../../agent/cli/machine/tool.ts'
import { call, GATEWAY, makeCluster, ready } from '../node/cluster.ts'
import { BOOT_MS } from '../node/under-test.ts'
import { eventually } from '../support/wait.ts'
import type { Report } from './measure.ts'

const MEGABYTE = 1e6
const NODE = 'cp-1'
/** The first boot makes STATE and an identity; the second is what every later one is like. */
const BOOTS = ['first boot', 'second boot'] as const

export type ImageBench = { readonly report: Report; readonly image: Image; readonly tools: Tools }

/** Adds rows of sections `bytes`, `boot` and `guest`. Takes two boots of the whole chain, firmware included. */
export async function benchImage({ report, image, tools }: ImageBench): Promise<void> {
  const { artifacts, components, rootBytes } = image.manifest
  report.add('bytes', 'the root, as its partition holds it', rootBytes / MEGABYTE, 'MB')
  for (const { name, bytes } of artifacts) report.add('bytes', name, bytes / MEGABYTE, 'MB')
  for (const { name, version, bytes } of [...components].sort((a, b) => b.bytes - a.bytes))
    report.add('bytes', `in the root, unpacked: ${name} ${version}`, bytes / MEGABYTE, 'MB')

  const folder = mkdtempSync(join(tmpdir(), 'stele-bench-'))
  try {
    const cluster = await makeCluster(['10.0.2.15:50001'])
    const [userData, tls] = [cluster.userDataOf(NODE), await cluster.tlsFor(NODE)]
    for (const boot of BOOTS) {
      const began = performance.now()
      const needs = { boot: 'firmware', name: NODE, folder, ports: [GATEWAY], userData } as const
      await using machine = await startQemu(image, tools, needs)
      const answered = await firstAnswer(machine, tls)
      report.add('boot', `${boot} (${machine.acceleration}): power-on to an answer`, answered - began, 'ms')
      await ready(machine, tls)
      report.add('boot', `${boot}: power-on to all services`, performance.now() - began, 'ms')
      const use = await whenBooted(machine, tls)
      addPhases(report, boot, use)
      if (boot === BOOTS[1]) addMemory(report, use)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function firstAnswer(machine: Machine, tls: ClientTls): Promise<number> {
  const ask = async () => {
    await call(machine, tls, ({ system }, options) => system.version({}, options))
    return performance.now()
  }
  return eventually(ask, { deadlineMs: BOOT_MS, everyMs: 50, what: 'an answer of the API' })
}

/** The resources of a node whose boot has ended, so that all parts of it have a length and nothing of it still runs. */
function whenBooted(machine: Machine, tls: ClientTls): Promise<ResourceServiceGetResponse> {
  const ask = async () => {
    const use = await call(machine, tls, ({ resource }, options) => resource.get({}, options))
    return use.bootPhases.some(({ name }) => name === 'userspace') ? use : undefined
  }
  return eventually(ask, { deadlineMs: BOOT_MS, everyMs: 500, what: 'the end of the boot' })
}

function addPhases(report: Report, boot: string, use: ResourceServiceGetResponse): void {
  for (const { name, duration } of use.bootPhases) {
    const ms = Number(duration?.seconds ?? 0n) * 1000 + (duration?.nanos ?? 0) / 1e6
    report.add('boot', `${boot}: ${name}`, ms, 'ms')
  }
}

function addMemory(report: Report, use: ResourceServiceGetResponse): void {
  if (use.memory === undefined) throw new Error('the node did not tell its memory')
  const { totalBytes, availableBytes } = use.memory
  report.add('guest', 'used by the whole guest, idle', Number(totalBytes - availableBytes) / MEGABYTE, 'MB')
  report.add('guest', 'the kernel has to give', Number(totalBytes) / MEGABYTE, 'MB')
  for (const { name, residentBytes, groupBytes, groupPeakBytes } of use.services) {
    addBytes(report, `${name}: resident`, residentBytes)
    addBytes(report, `${name}: its control group`, groupBytes)
    addBytes(report, `${name}: the most its control group had`, groupPeakBytes)
  }
}

function addBytes(report: Report, what: string, bytes: bigint | undefined): void {
  if (bytes !== undefined) report.add('guest', what, Number(bytes) / MEGABYTE, 'MB')
}
