/**
 * The writer's end of the channels to readers in other processes: carries out their requests, and reports how far the store
 * is durable. A reader learns the new mark before any caller learns that the commits below it succeeded.
 */
import type { MaybePromise } from '@freshet/core/store'
import {
  type Answer,
  type Answered,
  type FromWriter,
  type Question,
  type ToWriter,
  toErrorMessage,
  type WriterChannel,
} from './channel.js'
import type { EmbeddedStore } from './embedded-store.js'
import { storeClosed } from './lmdb-errors.js'

export interface ReadersService {
  /** Serves one reader until the channel closes. Returns a function that stops earlier. */
  attach(channel: WriterChannel): () => void
}

export function serveReaders(store: EmbeddedStore): ReadersService {
  return {
    attach(channel) {
      const session = new ReaderSession(store, channel)
      return () => session.end()
    },
  }
}

class ReaderSession {
  readonly #store: EmbeddedStore
  readonly #channel: WriterChannel
  #stopObserving: (() => void) | undefined
  /** The names that this reader may hold, and the holder of each. */
  readonly #held = new Map<string, string>()
  #isOver = false
  #answers: (readonly [id: number, answer: Answer])[] = []

  constructor(store: EmbeddedStore, channel: WriterChannel) {
    this.#store = store
    this.#channel = channel
    channel.onMessage(message => this.#onMessage(message))
    channel.onClose?.(() => this.end())
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopObserving?.()
    if (!this.#store.isOpen) return
    for (const [name, holder] of this.#held) this.#store.hold(name, holder, 0)
    this.#store.engine.forgetDeadReaders()
  }

  #onMessage(message: ToWriter): void {
    if (this.#isOver) return
    if (message.kind === 'attach') this.#attach(message.bytes)
    else if (message.kind === 'detach') this.end()
    else for (const [id, question] of message.questions) this.#answer(id, question)
  }

  #attach(bytes: unknown): void {
    try {
      if (!(bytes instanceof Uint8Array)) {
        throw new TypeError("The channel to the writer carries no bytes. Start readers with serialization: 'advanced'.")
      }
      const { engine, supports, isOpen } = this.#store
      if (!isOpen) throw storeClosed(engine.place)
      this.#stopObserving = engine.observe({
        onDurable: position => this.#send({ kind: 'durable', position }),
        onFailed: error => this.#send({ kind: 'failed', error: toErrorMessage(error) }),
      })
      this.#send({ kind: 'attached', position: engine.durablePosition, clock: engine.clock.base, supports })
    } catch (error) {
      this.#send({ kind: 'failed', error: toErrorMessage(error) })
    }
  }

  #answer(id: number, question: Question): void {
    this.#do(question).then(
      result => this.#answerSoon(id, { result }),
      error => this.#answerSoon(id, { error: toErrorMessage(error) }),
    )
  }

  async #do(question: Question): Promise<Answered> {
    if ('commit' in question) return this.#store.commitChecked(question.commit)
    if ('countOperations' in question) return this.#store.operationCounts()
    if ('hold' in question) return this.#hold(question.hold, question.holder, question.ms)
    if ('trim' in question) await this.#store.trim(question.trim)
    else if ('forgetOperations' in question) await this.#store.forgetOperations()
    else await this.#store.remember(question.remember, question.value)
    return undefined
  }

  #hold(name: string, holder: string, ms: number): MaybePromise<boolean> {
    this.#held.set(name, holder)
    return this.#store.hold(name, holder, ms)
  }

  #answerSoon(id: number, answer: Answer): void {
    this.#answers.push([id, answer])
    if (this.#answers.length > 1) return
    // Answers of one group commit come in one run of microtasks.
    setImmediate(() => this.#send({ kind: 'answers', answers: this.#answers.splice(0) }))
  }

  #send(message: FromWriter): void {
    if (this.#isOver) return
    try {
      this.#channel.send(message)
    } catch {
      // The reader is gone; the store shows whether its commits were made.
      this.end()
    }
  }
}
