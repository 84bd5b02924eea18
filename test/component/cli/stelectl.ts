import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mergeContext, type Context } from '../../../agent/cli/context.ts'
import type { Pair } from './authority.ts'

const root = join(import.meta.dirname, '../../..')

export type Ran = { readonly exit: number; readonly stdout: string; readonly stderr: string }

/** The command line as processes, with a home of its own. */
export class Terminal implements AsyncDisposable {
  readonly directory: string
  readonly config: string

  private constructor(directory: string) {
    this.directory = directory
    this.config = join(directory, 'config.yaml')
  }

  static async open(): Promise<Terminal> {
    return new Terminal(await mkdtemp(join(tmpdir(), 'stele-cli-')))
  }

  async addContext(
    name: string,
    nodes: readonly { name: string; endpoint: string; serverName?: string }[],
    trust: { authority: string; person: Pair },
  ): Promise<void> {
    const context: Context = {
      nodes: nodes.map(({ name, endpoint, serverName }) => ({
        ...{ name, endpoint },
        ...(serverName === undefined ? {} : { serverName }),
      })),
      authorities: trust.authority,
      ...trust.person,
    }
    await mergeContext(this.config, name, context)
  }

  start(...words: readonly string[]): ChildProcess {
    return spawn(join(root, 'node_modules/.bin/node'), [join(root, 'agent/cli/main.ts'), ...words], {
      cwd: this.directory,
      env: { PATH: process.env['PATH'], HOME: this.directory, STELECTL_CONFIG: this.config, TERM: 'dumb' },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  }

  run(...words: readonly string[]): Promise<Ran> {
    const child = this.start(...words)
    child.stdin?.end()
    return collect(child)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true })
  }
}

/** Everything that the process prints until it ends. */
export function collect(child: ChildProcess): Promise<Ran> {
  const printed = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk: Buffer) => (printed.stdout += chunk.toString('utf8')))
  child.stderr?.on('data', (chunk: Buffer) => (printed.stderr += chunk.toString('utf8')))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ exit: code ?? -1, ...printed }))
  })
}
