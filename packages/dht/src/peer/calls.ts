/**
 * Questions and answers between peers, with time-outs. Nothing here has side effects of its own: messages and timers go out
 * through `Effects`, messages come in by `receive`.
 */
import type { Answer, Kind, Message, Question } from './messages.js'
import type { Peer } from './ring.js'

/** What the edge does for a peer; the edge is a simulator, or a program with sockets. */
export interface Effects {
  /** The message may be lost, late, doubled or out of order. */
  send(to: Peer, message: Message): void
  /** Calls back after `delayMs`, unless the peer has stopped. By a clock that does not jump; it need not show the time of day. */
  after(delayMs: number, action: (nowMs: number) => void): void
}

/** Counts the messages of an operation, including those that other peers send for it. */
export interface Meter {
  messages: number
}

export type Then<Result> = (result: Result, nowMs: number) => void

/** Answers now or later. */
export type Answerer = (from: Peer, question: Question, nowMs: number, reply: (answer: Answer) => void) => void

interface Waiting {
  readonly goOn: Then<never>
  readonly meter: Meter | undefined
  readonly to: Peer
  /** Whether silence shows that the peer is gone; otherwise it may be busy asking others. */
  readonly isQuick: boolean
}

export interface Asking {
  readonly meter?: Meter | undefined
  /** How many times the usual time-out to wait: for answers that take further questions. */
  readonly patience?: number
}

export class Calls {
  readonly self: Peer
  readonly #effects: Effects
  readonly #timeoutMs: number
  readonly #answerer: Answerer
  /** Reports peers that did not answer, so that they can be removed from lists of peers. */
  readonly #onSilent: (peer: Peer, nowMs: number) => void
  #waiting: Map<number, Waiting> | undefined
  #lastCall: number

  constructor(options: {
    readonly self: Peer
    readonly effects: Effects
    readonly timeoutMs: number
    /** Higher than any number of an earlier life: late answers to that life must not be taken for answers to this one. */
    readonly firstCall: number
    readonly answerer: Answerer
    readonly onSilent: (peer: Peer, nowMs: number) => void
  }) {
    this.self = options.self
    this.#effects = options.effects
    this.#timeoutMs = options.timeoutMs
    this.#lastCall = options.firstCall
    this.#answerer = options.answerer
    this.#onSilent = options.onSilent
  }

  /** `then` gets undefined if there was no answer in time. Asking oneself takes no message. */
  ask<K extends Kind>(
    to: Peer,
    question: { readonly kind: K } & Question<K>,
    nowMs: number,
    then: Then<Answer<K> | undefined>,
    { meter, patience = 1 }: Asking = {},
  ): void {
    if (to === this.self) {
      // Not at once: an answer during the call to `ask` would find the caller's state half changed.
      this.#answerer(to, question as Question, nowMs, answer =>
        this.#effects.after(0, laterMs => then(answer as Answer<K>, laterMs)),
      )
      return
    }
    const call = this.nextNumber()
    this.#waiting ??= new Map()
    this.#waiting.set(call, { goOn: then as Then<never>, meter, to, isQuick: patience === 1 })
    if (meter !== undefined) meter.messages++
    this.#effects.send(to, { call, question: question as Question })
    this.#effects.after(this.#timeoutMs * patience, laterMs => {
      if (this.#waiting?.has(call) === true) this.unanswered(call, laterMs)
    })
  }

  /** A number that this peer has not used before, not even in an earlier life. */
  nextNumber(): number {
    return ++this.#lastCall
  }

  receive(from: Peer, message: Message, nowMs: number): void {
    if ('question' in message) {
      this.#answerer(from, message.question, nowMs, answer =>
        this.#effects.send(from, { answers: message.call, answer }),
      )
      return
    }
    const waiting = this.#take(message.answers)
    if (waiting === undefined) return
    if (waiting.meter !== undefined) waiting.meter.messages++
    waiting.goOn(message.answer as never, nowMs)
  }

  /** The edge knows that this question will not be answered, for example because the connection was refused. */
  unanswered(call: number, nowMs: number): void {
    const waiting = this.#take(call)
    if (waiting === undefined) return
    if (waiting.isQuick) this.#onSilent(waiting.to, nowMs)
    waiting.goOn(undefined as never, nowMs)
  }

  #take(call: number): Waiting | undefined {
    const waiting = this.#waiting?.get(call)
    if (waiting === undefined) return undefined
    this.#waiting!.delete(call)
    if (this.#waiting!.size === 0) this.#waiting = undefined
    return waiting
  }
}
