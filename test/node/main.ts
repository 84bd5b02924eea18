/** `node test/node/main.ts [pattern]`: runs the tests that boot an image. They are slow, and need QEMU, so `npm test` leaves them out. */
import { resolve } from 'node:path'
import { startVitest } from 'vitest/node'
import { ClosingLine } from '../support/closing-line.ts'

const vitest = await startVitest('test', process.argv.slice(2), {
  root: resolve(import.meta.dirname, '../..'),
  config: false,
  watch: false,
  include: ['test/node/**/*.test.ts'],
  // One machine at a time: two emulated ones on two processors only make each other's deadlines pass.
  fileParallelism: false,
  hookTimeout: 300_000,
  reporters: ['default', new ClosingLine()],
})
await vitest.close()
