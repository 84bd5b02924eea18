/**
 * What a daemon says to the supervisor that started it, over the IPC channel of its child process. Without such a channel nothing is said and
 * nothing is awaited, so the same daemon runs under any supervisor.
 */
export function notifyReady(): void {
  process.send?.({ kind: 'ready' })
}

/** Calls `stop` once when the supervisor is gone, so that no daemon outlives it unattended. */
export function onSupervisorGone(stop: () => void): void {
  if (process.channel) process.once('disconnect', stop)
}
