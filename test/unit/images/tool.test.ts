import { describe, expect, it } from 'vitest'
import { hostRun, missingHostPackages, requireHostPackages } from '../../../images/tool.ts'

const signal = new AbortController().signal
const run = hostRun({ SOURCE_DATE_EPOCH: '7' })

describe('the host', () => {
  it('is refused at once when it is not Linux or not root', () => {
    for (const host of [
      { platform: 'darwin', uid: 0 },
      { platform: 'linux', uid: 1000 },
    ]) {
      expect(() => missingHostPackages(host)).toThrow(expect.objectContaining({ code: 'host_unfit' }))
    }
  })

  it('is told the line that installs what it lacks', () => {
    expect(() => requireHostPackages(['mmdebstrap'])).toThrow(
      expect.objectContaining({
        hint: expect.stringContaining('apt-get install -y --no-install-recommends mmdebstrap') as string,
      }),
    )
    expect(() => requireHostPackages([])).not.toThrow()
  })
})

describe('an external program', () => {
  it('gets an environment of ours alone', async () => {
    process.env['SECRET_OF_CALLER'] = 'x'
    const output = await run('env', [], { signal })
    expect(output).toContain('SOURCE_DATE_EPOCH=7')
    expect(output).not.toContain('SECRET_OF_CALLER')
  })

  it('that fails names its command and its last lines', async () => {
    const failing = run('sh', ['-c', 'echo one; echo two >&2; exit 3'], { signal })
    await expect(failing).rejects.toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining('exited 3') as string,
      hint: expect.stringContaining('two') as string,
    })
  })

  it('that does not exist is a failure of the same kind', async () => {
    await expect(run('no-such-program', [], { signal })).rejects.toMatchObject({ code: 'tool_failed' })
  })

  it('ends with its signal, and so does what it started', async () => {
    const stop = new AbortController()
    const running = run('sh', ['-c', 'sleep 300 & wait'], { signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
  })
})
