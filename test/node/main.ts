/**
 * `node test/node/main.ts [--all] [pattern]…`: runs the tests that boot an image. They are slow, and need QEMU, so `npm test` leaves them out. Files
 * named `*.long.test.ts` run with `--all`, or when a pattern names them.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { ClosingLine } from '../support/closing-line.ts'

const { values, positionals } = parseArgs({
  options: { all: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const isShort = !values.all && positionals.length === 0

const vitest = await startVitest('test', positionals, {
  root: resolve(import.meta.dirname, '../..'),
  config: false,
  watch: false,
  include: ['test/node/**/*.test.ts'],
  exclude: isShort ? ['**/*.long.test.ts'] : [],
  // One machine at a time: two emulated ones on two processors only make each other's deadlines pass.
  fileParallelism: false,
  hookTimeout: 300_000,
  reporters: ['default', new ClosingLine()],
})
await vitest.close()
