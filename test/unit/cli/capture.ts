import { Output } from '../../../agent/cli/output.ts'

/** An output that keeps what it prints. */
export function capture(options: { readonly isTTY?: boolean; readonly colour?: boolean } = {}) {
  const chunks = { stdout: '', stderr: '' }
  const sink = (name: 'stdout' | 'stderr') => ({
    isTTY: options.isTTY ?? false,
    write: (text: string | Uint8Array) => {
      chunks[name] += Buffer.from(text).toString('utf8')
      return true
    },
  })
  const output = new Output({
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    colour: options.colour ?? false,
  })
  return { output, stdout: () => chunks.stdout, stderr: () => chunks.stderr }
}
