/** The connection to the writer thread (`writer-thread.ts`). It has one user at a time (`StateLines`). */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { EngineLost, storeUnusable } from '@freshet/store/engine'
import type { Row, Step } from './connection.js'
import { toEngineError } from './sqlite-errors.js'
import type { Answered, Asked, WriterData } from './writer-thread.js'

export interface RunOptions {
  /** Whether the commit must be on disk when this resolves; true by default. */
  readonly isFlushed?: boolean
  /** The steps include a commit: if its outcome is unknown, the error says so. */
  readonly isCommitting?: boolean
}

interface Waiting {
  readonly isCommitting: boolean
  readonly resolve: (results: readonly (readonly Row[])[]) => void
  readonly reject: (error: Error) => void
}

export class Writer {
  readonly #place: string
  readonly #data: WriterData
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #lastId = 0

  constructor(place: string, data: WriterData) {
    this.#place = place
    this.#data = data
  }

  /**
   * Runs the steps in order. Throws `EngineBusy`, `EngineLost` or an error of `docs/errors.md`; after an error, no
   * transaction is open.
   */
  run(
    steps: readonly Step[],
    { isFlushed = true, isCommitting = false }: RunOptions = {},
  ): Promise<readonly (readonly Row[])[]> {
    this.#worker ??= this.#start()
    const id = ++this.#lastId
    this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { isCommitting, resolve, reject })
      this.#worker!.postMessage({ id, isFlushed, steps } satisfies Asked)
    })
  }

  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const ended = once(worker, 'exit')
    worker.ref()
    worker.postMessage('close')
    await ended
  }

  #start(): Worker {
    const worker = new Worker(new URL('./writer-thread.js', import.meta.url), { workerData: this.#data })
    worker.on('message', (answered: Answered) => this.#answer(worker, answered))
    worker.on('error', error => this.#lose(error))
    worker.on('exit', () => {
      this.#worker = undefined
      this.#lose(new Error('The thread that writes has ended.'))
    })
    return worker
  }

  #answer(worker: Worker, { id, results, failure, isMoved }: Answered): void {
    const waiting = this.#waiting.get(id)
    if (!this.#waiting.delete(id) || waiting === undefined) return
    if (this.#waiting.size === 0) worker.unref()
    if (results) waiting.resolve(results)
    else if (isMoved) waiting.reject(storeUnusable(this.#place, MOVED))
    else waiting.reject(toEngineError(this.#place, failure, waiting.isCommitting))
  }

  #lose(reason: Error): void {
    for (const { reject, isCommitting } of this.#waiting.values()) reject(new EngineLost(reason, isCommitting))
    this.#waiting.clear()
  }
}

const MOVED =
  'its file was moved or replaced while it was open. Stop all servers, restore the file to its place, and start them again'
