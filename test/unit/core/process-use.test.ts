import { describe, expect, it } from 'vitest'
import { memoryUse, processorMs, processUse, residentBytes } from '../../../agent/core/process-use.ts'

describe('what a process uses', () => {
  it('takes resident memory from the status of the kernel, in bytes', () => {
    expect(residentBytes('Name:\tnode\nVmPeak:\t  900 kB\nVmRSS:\t   61440 kB\nRssAnon:\t 1 kB\n')).toBe(
      62_914_560,
    )
  })

  it('knows nothing of a kernel thread, which has no memory', () => {
    expect(residentBytes('Name:\tkworker\nThreads:\t1\n')).toBeUndefined()
  })

  it('finds processor time behind a name with spaces and brackets', () => {
    const fields = ['S', ...Array.from({ length: 10 }, () => '0'), '150', '50', '0', '0']
    expect(processorMs(`12 (a) b (c)) ${fields.join(' ')}`)).toBe(2000)
  })

  it.each(['', '12 (node)', '12 (node) S 1 2'])('knows no processor time in %j', (stat) => {
    expect(processorMs(stat)).toBeUndefined()
  })

  it('knows nothing of a process that is gone', () => {
    expect(processUse(2 ** 22 + 1)).toEqual({ residentBytes: undefined, processorMs: undefined })
  })
})

describe('memory of the machine', () => {
  it('is what the kernel would give, not only what is free', () => {
    const meminfo = 'MemTotal:        2048 kB\nMemFree:          100 kB\nMemAvailable:    1024 kB\n'
    expect(memoryUse(meminfo)).toEqual({ totalBytes: 2_097_152, availableBytes: 1_048_576 })
  })

  it('is told by the runtime where the kernel has no such file', () => {
    const { totalBytes, availableBytes } = memoryUse('')
    expect(totalBytes).toBeGreaterThan(availableBytes)
    expect(availableBytes).toBeGreaterThan(0)
  })
})
