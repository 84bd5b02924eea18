/**
 * containerd, runc and the CNI plugins, built from their Go modules by the compilers of a tools tree of their own. Each has a module of its own
 * below `images/runtime`, so that it is built with the dependencies its project chose, fixed by go.sum.
 *
 * All three are built at once: one downloads or links, on one processor, while another compiles.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StepContext } from '../run.ts'

const MODULES = [
  { name: 'runc', to: 'bin', cgo: '1', tags: 'seccomp' },
  { name: 'plugins', to: 'lib/cni', cgo: '0', tags: '' },
  // Without snapshots other than overlay, which need libraries that the image does not have, without cache allocation of Intel processors, and without
  // a way to send traces elsewhere.
  { name: 'containerd', to: 'bin', cgo: '0', tags: 'no_btrfs,no_devmapper,no_zfs,no_rdt,no_tracing' },
] as const

/** Writes `bin/` and `lib/cni/`, and to `modules.txt` what Go tells of them. Throws what the first build that fails throws, after the others ended with it. */
export async function buildRuntime(context: StepContext): Promise<void> {
  const failed = new AbortController()
  const signal = AbortSignal.any([context.signal, failed.signal])
  const builds = MODULES.map((module) =>
    build(module, context, signal).catch((error: unknown) => {
      failed.abort(error)
      throw error
    }),
  )
  await Promise.allSettled(builds)
  await Promise.all(builds)
  const told = await context.treeOf('go-tools')('go', ['version', '-m', 'bin', 'lib/cni'], {
    signal: context.signal,
    cwd: context.out,
    env: { GOTOOLCHAIN: 'local' },
  })
  writeFileSync(join(context.out, 'modules.txt'), told)
}

async function build(
  { name, to, cgo, tags }: (typeof MODULES)[number],
  context: StepContext,
  signal: AbortSignal,
): Promise<void> {
  const folder = join(context.out, to)
  mkdirSync(folder, { recursive: true })
  await context.treeOf('go-tools')(
    'go',
    ['build', '-trimpath', `-tags=${tags}`, '-ldflags=-s -w -buildid=', '-o', `${folder}/`, 'tool'],
    {
      signal,
      cwd: join(context.repository, 'images/runtime', name),
      env: {
        CGO_ENABLED: cgo,
        GOCACHE: join(context.scratch, 'go-build'),
        GOFLAGS: '-mod=readonly -buildvcs=false',
        GOMODCACHE: join(context.scratch, 'go-modules'),
        GOTOOLCHAIN: 'local',
      },
    },
  )
}
