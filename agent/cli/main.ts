#!/usr/bin/env node
/** stelectl: argv → verb → exit code. The only file of the command line that reads argv and the environment, handles signals and exits. */
import { createInterface } from 'node:readline/promises'
import { systemClock } from '#kit/clock'
import { interruption, worstExit, type ExitCode } from './failure.ts'
import { CliFault } from './fault.ts'
import { Output, wantsColour } from './output.ts'
import { buildProgram, runProgram } from './program.ts'
import type { Host } from './run.ts'

const leaving = new AbortController()
let exitCode: ExitCode = 0

function interrupt(): void {
  if (leaving.signal.aborted) process.exit(130)
  leaving.abort(interruption())
}

/** The reader of our output left, as head does: nothing is wrong and nothing more is said. */
function onPipeError(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  if (!leaving.signal.aborted) leaving.abort(new CliFault('pipe_closed', 'the reader of the output left'))
  process.exit(0)
}

async function confirm(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // On a terminal the prompt takes Ctrl-C and Ctrl-D for itself: the first leaves, the second is a no.
  prompt.on('SIGINT', interrupt)
  const closed = new Promise<string>((resolve) => prompt.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([prompt.question(question, { signal: leaving.signal }), closed])
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    prompt.close()
  }
}

process.on('SIGINT', interrupt)
process.on('SIGTERM', interrupt)
process.stdout.on('error', onPipeError)
process.stderr.on('error', onPipeError)

const { env, stdin, stdout, stderr } = process
const host: Host = {
  env,
  output: new Output({ stdout, stderr, colour: wantsColour(env) }),
  signal: leaving.signal,
  clock: systemClock,
  confirm: stdin.isTTY && stderr.isTTY ? confirm : undefined,
  settle: (code) => {
    exitCode = worstExit([exitCode, code])
  },
}
await runProgram(buildProgram(host), host, process.argv.slice(2))
stdout.write('', () => process.exit(exitCode))
