import type { Reporter, TestModule } from 'vitest/node'

/**
 * Prints `N passed, N failed` alone on the last line, for readers and machines that count. A file that cannot be loaded counts as one failure, and so does a
 * group whose hook failed: its tests did not run.
 */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    let passed = 0
    let failed = unhandled.length
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      if (tests.length === 0 || module.errors().length > 0) failed += module.state() === 'failed' ? 1 : 0
      for (const suite of module.children.allSuites()) failed += suite.errors().length > 0 ? 1 : 0
      for (const test of tests) {
        const state = test.result().state
        if (state === 'passed') passed += 1
        else if (state === 'failed') failed += 1
      }
    }
    process.on('exit', () => process.stdout.write(`${passed} passed, ${failed} failed\n`))
  }
}
