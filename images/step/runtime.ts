/**
 * containerd, runc and the CNI plugins, built from their Go modules by the compilers of the tools tree. Each has a module of its own below
 * `images/runtime`, so that it is built with the dependencies its project chose, fixed by go.sum.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { StepContext } from '../run.ts'

const MODULES = [
  { name: 'runc', to: 'bin', cgo: '1', tags: 'seccomp' },
  { name: 'plugins', to: 'lib/cni', cgo: '0', tags: '' },
  // btrfs, zfs and device-mapper snapshots need libraries that the image does not have; overlay is what it uses.
  { name: 'containerd', to: 'bin', cgo: '0', tags: 'no_btrfs,no_devmapper,no_zfs,no_aufs' },
] as const

/** Writes `bin/` and `lib/cni/`. */
export async function buildRuntime(context: StepContext): Promise<void> {
  for (const { name, to, cgo, tags } of MODULES) {
    const folder = join(context.out, to)
    mkdirSync(folder, { recursive: true })
    await context.tree(
      'go',
      ['build', '-trimpath', `-tags=${tags}`, '-ldflags=-s -w -buildid=', '-o', `${folder}/`, 'tool'],
      {
        signal: context.signal,
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
}
