/**
 * The thread that writes (`writer.ts`): it waits for the lock and for the disk, so that other threads need not. It runs the
 * steps of a message in order, and answers with their rows, or with the error; after an error, no transaction is open.
 */
import { statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { Connection, loadBinding, type Row, type Step } from './connection.js'
import { type Failure, toFailure } from './sqlite-errors.js'

export interface Asked {
  readonly id: number
  /** Whether the commit must be on disk. */
  readonly isFlushed: boolean
  readonly steps: readonly Step[]
}

export interface Answered {
  readonly id: number
  readonly results?: readonly (readonly Row[])[]
  readonly failure?: Failure
  /** Another file is now at the path. */
  readonly isMoved?: boolean
}

export interface WriterData {
  readonly path: string
  /** The inode of the file that was opened. */
  readonly inode: string
  /** How long one attempt waits for another process's transaction. */
  readonly lockMs: number
}

const SQLITE_BUSY = 5
/**
 * SQLite's own pauses grow to 100 ms: beside a process that writes without pause, such a process would hardly ever get its
 * turn.
 */
const PAUSE_MS_MAX = 2
const sleeping = new Int32Array(new SharedArrayBuffer(4))

const port = parentPort!
const { path, inode, lockMs } = workerData as WriterData
const binding = (await loadBinding())!
const flushed = new Connection(binding, path, true)
const unflushed = new Connection(binding, path, false)

port.on('message', (asked: Asked | 'close') => {
  if (asked === 'close') return close()
  const { id, isFlushed, steps } = asked
  const connection = isFlushed ? flushed : unflushed
  try {
    if (!connection.isInTransaction && `${statSync(path, { bigint: true }).ino}` !== inode)
      return answer({ id, isMoved: true })
    answer({ id, results: steps.map(step => (step.name === 'beginWrite' ? begin(connection) : connection.step(step))) })
  } catch (error) {
    connection.rollBack()
    answer({ id, failure: toFailure(error) })
  }
})
port.postMessage({ id: 0, results: [] } satisfies Answered)

function answer(answered: Answered): void {
  port.postMessage(answered)
}

function begin(connection: Connection): readonly Row[] {
  for (const deadlineMs = performance.now() + lockMs; ; ) {
    try {
      return connection.rows('beginWrite')
    } catch (error) {
      const isBusy = ((toFailure(error).errcode ?? 0) & 0xff) === SQLITE_BUSY
      if (!isBusy || performance.now() > deadlineMs) throw error
      Atomics.wait(sleeping, 0, 0, PAUSE_MS_MAX * Math.random())
    }
  }
}

function close(): void {
  flushed.close()
  unflushed.close()
  port.close()
}
