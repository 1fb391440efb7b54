/** A reader's end of the channel to the writer: sends questions, and learns how far the store is durable. */
import type { Position } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import {
  type Answer,
  type Answered,
  type Attached,
  type FromWriter,
  fromErrorMessage,
  type Question,
  type ReaderChannel,
} from './channel.js'
import { DurableMark } from './durable-mark.js'
import { storeClosed } from './lmdb-errors.js'

interface Pending {
  resolve(result: Answered): void
  reject(error: unknown): void
}

export class WriterLine {
  readonly mark: DurableMark = new DurableMark(0)
  onDurable: (position: Position) => void = () => {}
  readonly #path: string
  readonly #channel: ReaderChannel
  readonly #pending = new Map<number, Pending>()
  readonly #asked = new Set<Promise<unknown>>()
  #questions: (readonly [id: number, question: Question])[] = []
  #lastId = 0
  #attaching: { resolve(attached: Attached): void; reject(error: unknown): void } | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(path: string, channel: ReaderChannel) {
    this.#path = path
    this.#channel = channel
  }

  attach(): Promise<Attached> {
    return new Promise((resolve, reject) => {
      this.#attaching = { resolve, reject }
      this.#channel.onMessage(message => this.#onMessage(message))
      this.#channel.onClose?.(() => this.end(this.#writerGone()))
      // The bytes show whether the channel can carry bytes.
      this.#channel.send({ kind: 'attach', bytes: Uint8Array.of(1) })
    })
  }

  /** Questions of one turn are sent together. */
  ask(question: Question): Promise<Answered> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    const asked = new Promise<Answered>((resolve, reject) => {
      const id = ++this.#lastId
      this.#pending.set(id, { resolve, reject })
      this.#questions.push([id, question])
      if (this.#questions.length === 1) setImmediate(() => this.#send())
    })
    this.#asked.add(asked)
    return asked.finally(() => this.#asked.delete(asked))
  }

  /** Resolves when every question has its answer. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#asked)
  }

  detach(): void {
    if (!this.#failure) this.#channel.send({ kind: 'detach' })
    this.end(storeClosed(this.#path))
  }

  end(error: unknown): void {
    this.#failure ??= { error }
    this.#attaching?.reject(error)
    this.mark.fail(error)
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }

  #send(): void {
    const questions = this.#questions
    this.#questions = []
    if (this.#failure) return
    try {
      this.#channel.send({ kind: 'ask', questions })
    } catch (cause) {
      this.end(this.#writerGone(cause))
    }
  }

  #onMessage(message: FromWriter): void {
    if (message.kind === 'durable') {
      this.mark.advance(message.position)
      this.onDurable(message.position)
    } else if (message.kind === 'answers') {
      for (const [id, answer] of message.answers) this.#onAnswer(id, answer)
    } else if (message.kind === 'attached') {
      this.mark.advance(message.position)
      this.#attaching?.resolve(message)
      this.#attaching = undefined
    } else {
      this.end(fromErrorMessage(message.error))
    }
  }

  #onAnswer(id: number, answer: Answer): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if ('error' in answer) pending?.reject(fromErrorMessage(answer.error))
    else pending?.resolve(answer.result)
  }

  #writerGone(cause?: unknown): FreshetError {
    return new FreshetError('STORE_CLOSED', `The process that writes the store at ${this.#path} is gone.`, { cause })
  }
}
