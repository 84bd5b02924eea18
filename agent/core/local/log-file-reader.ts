/**
 * Reads a growing, turning log file at the reader's pace.
 *
 * Invariants: at most one chunk and one partial line are in memory for each reader, however fast the file grows; the file descriptor is
 * closed when the reader leaves; lines that were turned away before they were read are counted, never skipped in silence.
 */
import { open, stat, type FileHandle } from 'node:fs/promises'
import type { Clock } from '#kit/clock'
import type { LogChunk, LogQuery } from '../ports.ts'
import { LineCutter } from './line-cutter.ts'

const CHUNK = 64 * 1024
const POLL_MS = 150

export type LogFiles = {
  readonly current: string
  readonly older: string
  readonly previous: string
  readonly previousOlder: string
}

/** Yields the lines of a log, the oldest first; with `follow` it goes on until the signal aborts. An absent file has no lines. */
export async function* readLogFiles(
  files: LogFiles,
  query: LogQuery,
  clock: Clock,
): AsyncGenerator<LogChunk> {
  const [older, current] = query.previousBoot
    ? [files.previousOlder, files.previous]
    : [files.older, files.current]
  const cutter = new LineCutter({ skipLines: await linesToSkip([older, current], query.tailLines) })
  // Opened before the older file is read: a turn in between then shows as another inode below.
  let handle = await openIfThere(current)
  try {
    yield* drain(await openIfThere(older), cutter, query.signal, { close: true })
    yield* drain(handle, cutter, query.signal, { close: false })
    while (query.follow && !query.previousBoot) {
      const turn = await turned(handle, files)
      if (turn !== undefined) {
        yield* drain(handle, cutter, query.signal, { close: true })
        handle = await openIfThere(current)
      }
      if (turn !== undefined && turn.lost > 0) yield { lines: Buffer.alloc(0), dropped: turn.lost }
      const before = cutter.taken
      yield* drain(handle, cutter, query.signal, { close: false })
      if (cutter.taken === before) await clock.sleep(POLL_MS, query.signal)
    }
    const rest = cutter.end()
    if (rest !== undefined) yield { lines: rest, dropped: 0 }
  } finally {
    await handle?.close()
  }
}

async function linesToSkip(paths: readonly string[], tailLines: number): Promise<number> {
  if (tailLines === 0) return 0
  let lines = 0
  for (const path of paths) lines += await countLines(path)
  return Math.max(0, lines - tailLines)
}

async function* drain(
  handle: FileHandle | undefined,
  cutter: LineCutter,
  signal: AbortSignal,
  options: { readonly close: boolean },
): AsyncGenerator<LogChunk> {
  if (handle === undefined) return
  try {
    const buffer = Buffer.allocUnsafe(CHUNK)
    for (;;) {
      signal.throwIfAborted()
      const { bytesRead } = await handle.read(buffer, 0, CHUNK)
      if (bytesRead === 0) return
      const lines = cutter.take(buffer.subarray(0, bytesRead))
      if (lines !== undefined) yield { lines, dropped: 0 }
    }
  } finally {
    if (options.close) await handle.close()
  }
}

/** Whether the file that is read was moved away, and how many lines were then lost: a whole file, when it turned more than once. */
async function turned(
  handle: FileHandle | undefined,
  files: LogFiles,
): Promise<{ readonly lost: number } | undefined> {
  const now = await inode(files.current)
  if (handle === undefined) return now === undefined ? undefined : { lost: 0 }
  const mine = (await handle.stat()).ino
  if (now === undefined || now === mine) return undefined
  const older = await inode(files.older)
  const previous = await inode(files.previous)
  const seen = older === undefined || older === mine || previous === mine
  return { lost: seen ? 0 : await countLines(files.older) }
}

async function inode(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino
  } catch {
    return undefined
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch {
    return undefined
  }
}

async function countLines(path: string): Promise<number> {
  const handle = await openIfThere(path)
  if (handle === undefined) return 0
  try {
    const buffer = Buffer.allocUnsafe(CHUNK)
    let lines = 0
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK)
      if (bytesRead === 0) return lines
      for (let at = buffer.indexOf(10); at >= 0 && at < bytesRead; at = buffer.indexOf(10, at + 1)) lines += 1
    }
  } finally {
    await handle.close()
  }
}
