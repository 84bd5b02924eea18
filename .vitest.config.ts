import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/{unit,architecture,component,scenario}/**/*.test.ts'],
    reporters: ['default', './test/support/closing-line.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
