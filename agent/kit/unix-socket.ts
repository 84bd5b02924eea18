import { connect } from 'node:net'

/** Whether a process listens on the unix socket at `path`. A file that nobody listens on is what a killed process left behind. */
export function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    const end = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}
