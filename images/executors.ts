/** Which function makes the output of which step. */
import type { StepName } from './plan.ts'
import type { Executor } from './run.ts'
import { makeBundles } from './step/bundle.ts'
import { makeDisk } from './step/disk.ts'
import { makeFilesystem } from './step/filesystem.ts'
import { unpackGoTools } from './step/go-tools.ts'
import { makeInitrd } from './step/initrd.ts'
import { inspectRoot } from './step/inspect.ts'
import { makeManifest } from './step/manifest.ts'
import { unpackPackages } from './step/packages.ts'
import { makeRoot } from './step/root.ts'
import { buildRuntime } from './step/runtime.ts'
import { makeTools } from './step/tools.ts'
import { makeUki } from './step/uki.ts'
import { makeUmlKernel } from './step/uml-kernel.ts'
import { makeVerity } from './step/verity.ts'

export const EXECUTORS: Readonly<Record<StepName, Executor>> = {
  'go-tools': unpackGoTools,
  tools: makeTools,
  packages: unpackPackages,
  runtime: buildRuntime,
  bundles: makeBundles,
  root: makeRoot,
  inspect: inspectRoot,
  initrd: makeInitrd,
  filesystem: makeFilesystem,
  verity: makeVerity,
  uki: makeUki,
  disk: makeDisk,
  'uml-tools': makeTools,
  'uml-kernel': makeUmlKernel,
  manifest: makeManifest,
}

/** Files of `images/` whose text is the recipe of each step: a change of one runs the step again. */
export const RECIPES: Readonly<Record<StepName, readonly string[]>> = {
  'go-tools': ['step/go-tools.ts', 'step/debian.ts'],
  tools: ['step/tools.ts', 'step/debian.ts'],
  packages: ['step/packages.ts', 'step/debian.ts'],
  runtime: ['step/runtime.ts'],
  bundles: ['step/bundle.ts', 'parts.ts'],
  root: ['step/root.ts', 'step/prune.ts', 'step/unit.ts', 'overlay.ts', 'tree.ts', 'elf.ts'],
  inspect: [
    'step/inspect.ts',
    'step/listen.ts',
    'step/program.ts',
    'step/secret.ts',
    'step/secret-kind.ts',
    'step/secret-key.ts',
    'tree.ts',
    'elf.ts',
  ],
  initrd: [
    'step/initrd.ts',
    'step/kernel.ts',
    'step/prune.ts',
    'step/unit.ts',
    'cpio.ts',
    'tree.ts',
    'elf.ts',
  ],
  filesystem: ['step/filesystem.ts'],
  verity: ['step/verity.ts', 'step/repart.ts'],
  uki: ['step/uki.ts', 'step/kernel.ts', 'manifest.ts', 'parts.ts'],
  disk: ['step/disk.ts', 'step/repart.ts', 'tree.ts', 'elf.ts'],
  'uml-tools': ['step/tools.ts', 'step/debian.ts'],
  'uml-kernel': ['step/uml-kernel.ts'],
  manifest: [
    'step/manifest.ts',
    'manifest.ts',
    'parts.ts',
    'profile.ts',
    'plain-file.ts',
    'step/inspect.ts',
    'step/listen.ts',
    'step/program.ts',
    'step/secret.ts',
    'step/secret-kind.ts',
    'step/secret-key.ts',
    'step/packages.ts',
    'step/debian.ts',
    'step/kernel.ts',
    'tree.ts',
    'elf.ts',
  ],
}
