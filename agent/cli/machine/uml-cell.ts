/**
 * `node uml-cell.ts CELL`: the first process of a machine of User-Mode Linux, alone in a network and a process namespace. It makes the tap device,
 * starts the kernel and carries connections: the listening sockets come from outside by the IPC channel and stay sockets of outside, while what
 * this process dials is inside.
 *
 * Invariant: nothing outlives it. The namespaces end with their first process, and it ends with the kernel, and with whoever started it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { connect, type Server, type Socket } from 'node:net'

/** What the cell is told, as JSON. Nothing in it is a secret. */
export type Cell = {
  readonly tap: string
  /** Address of the cell on the tap device, with the length of its prefix. */
  readonly address: string
  /** Address of the guest, which connections are carried to. */
  readonly guest: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Sent with a listening socket: the port of the guest that it stands for. */
export type Forward = { readonly guestPort: number }

function carry(near: Socket, cell: Cell, { guestPort }: Forward): void {
  const far = connect({ host: cell.guest, port: guestPort })
  // Also what failed is told by an end: the guest is off, or nobody listens there.
  near.on('error', () => far.destroy()).on('close', () => far.destroy())
  far.on('error', () => near.destroy()).on('close', () => near.destroy())
  near.pipe(far).pipe(near)
}

function run(cell: Cell): void {
  execFileSync('ip', ['tuntap', 'add', 'dev', cell.tap, 'mode', 'tap'])
  execFileSync('ip', ['address', 'add', cell.address, 'dev', cell.tap])
  execFileSync('ip', ['link', 'set', cell.tap, 'up'])
  const [program = '', ...args] = cell.command
  const kernel = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...cell.env } })
  kernel.once('error', (error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  })
  kernel.once('exit', (code) => process.exit(code ?? 1))
  process.on('message', (forward: Forward, server: Server) => {
    server.on('connection', (near: Socket) => carry(near, cell, forward))
  })
  process.once('disconnect', () => process.exit(0))
}

// The argument is what `startUml` wrote.
run(JSON.parse(process.argv[2] ?? '') as Cell)
