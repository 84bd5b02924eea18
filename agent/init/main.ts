/** `init --node <dir>/node.json`: supervises the daemons of one node of the embedded mode, in the directory that holds the node file. */
import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '#kit/clock'
import { createLog } from '#kit/log'
import { notifyReady, onSupervisorGone } from '#kit/supervised'
import { Child } from './child.ts'
import { serviceCommands } from './command.ts'
import { openControlSocket } from './control.ts'
import { InitFault } from './fault.ts'
import { LogFile } from './log-file.ts'
import { nodeDirectory, type NodeDirectory } from './node-directory.ts'
import { readNodeFile } from './node-file.ts'
import type { ServiceName } from './protocol.ts'
import { Supervisor } from './supervisor.ts'

/** What a service needs of the environment; everything else of it, secrets included, stays behind. */
const PASSED_ON = ['PATH', 'TZ', 'NODE_COMPILE_CACHE'] as const

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { node: { type: 'string' } }, strict: true })
  if (values.node === undefined) throw new Error('--node <file> is required')
  const file = resolve(values.node)
  const node = readNodeFile(file)
  const paths = nodeDirectory(dirname(file))
  makeDirectories(paths)

  const kernelLog = new LogFile(paths.log, 'kernel')
  const log = createLog('init', { write: (line: string) => kernelLog.append(line) })
  const commands = serviceCommands(node, paths)
  const output = {
    core: new LogFile(paths.log, 'core'),
    gateway: new LogFile(paths.log, 'gateway'),
    trust: new LogFile(paths.log, 'trust'),
  }
  const env = Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  )
  const child = (name: ServiceName) =>
    new Child({ name, command: commands[name], env, output: output[name], log, clock: systemClock })

  const supervisor = new Supervisor({
    children: { core: child('core'), gateway: child('gateway'), trust: child('trust') },
    logs: [kernelLog, ...Object.values(output)],
    log,
    clock: systemClock,
    onPowerOff: () => process.exit(0),
  })
  await openControlSocket({ path: paths.initSocket, handle: (request) => supervisor.handle(request), log })
  supervisor.boot()
  notifyReady()

  let stopping = false
  const stop = (why: string) => {
    if (stopping) return
    stopping = true
    log.info('init stops', { why })
    void supervisor.powerOff(false)
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  onSupervisorGone(() => stop('supervisor gone'))
}

function makeDirectories(paths: NodeDirectory): void {
  for (const directory of [paths.state, paths.log, paths.run])
    mkdirSync(directory, { recursive: true, mode: 0o700 })
}

main().catch((error: unknown) => {
  process.stderr.write(`init: ${error instanceof Error ? error.message : 'failed'}\n`)
  process.exit(error instanceof InitFault && error.code === 'directory_in_use' ? 2 : 1)
})
