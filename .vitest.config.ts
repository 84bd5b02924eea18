import { defineConfig } from 'vitest/config'
import { ClosingLine } from './test/support/closing-line.ts'

export default defineConfig({
  test: {
    include: ['test/{unit,architecture,component,scenario}/**/*.test.ts'],
    reporters: ['default', new ClosingLine()],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
