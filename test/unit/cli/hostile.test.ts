import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readInput } from '../../../agent/cli/file.ts'
import { Output } from '../../../agent/cli/output.ts'

const STEERING = '\u009b2J\u202e\u2066\u2028\u200b\u001b[31m'

describe('what a node says', () => {
  it.each(['table', 'json', 'yaml'] as const)('cannot steer the terminal as %s', async (format) => {
    const written: string[] = []
    const sink = { write: (text: string) => void written.push(text), isTTY: true }
    const output = new Output({
      stdout: sink,
      stderr: sink,
      colour: false,
    } as unknown as ConstructorParameters<typeof Output>[0])
    await output.use(format)
    output.result([{ node: STEERING }], () => STEERING)
    output.item({ line: STEERING }, () => STEERING)
    expect(written.join('')).not.toMatch(/[\u0080-\u009f\u200b\u2028\u202e\u2066\u001b]/)
  })
})

describe('a file that is a pipe', () => {
  it('is refused at once, though nobody writes to it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'stele-fifo-'))
    execFileSync('mkfifo', [join(folder, 'pipe')])
    await expect(readInput(join(folder, 'pipe'))).rejects.toMatchObject({ code: 'file_unreadable' })
    rmSync(folder, { recursive: true })
  })
})
