/** Bundles every process and the command line under `.build/`, for `npm start`. */
import { join } from 'node:path'
import { bundle, bundleCommandLine } from './step/bundle.ts'

const repository = join(import.meta.dirname, '..')

await Promise.all([
  bundle(repository, '.build', ['core', 'gateway', 'trust', 'init']),
  bundleCommandLine(repository, '.build'),
])
