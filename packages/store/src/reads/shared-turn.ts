/**
 * Requests of one turn of the event loop are sent together. A busy server has many in each turn, and the fixed cost of a
 * command, in the driver and the engine, exceeds the cost of one more item in it. Nothing is delayed: a single request is
 * sent in the same turn, alone; while nothing is under way, a batch is sent as soon as the current callbacks have run.
 */
import type { MaybePromise } from '@freshet/core/store'

interface Waiting<Item, Answer> {
  readonly item: Item
  resolve(answer: MaybePromise<Answer>): void
  reject(error: unknown): void
}

/** One answer for each item, in their order; an answer that is not known yet is a promise. */
export type AskTogether<Item, Answer> = (items: readonly Item[]) => Promise<readonly MaybePromise<Answer>[]>

export class SharedTurn<Item, Answer> {
  readonly #all: AskTogether<Item, Answer>
  readonly #itemsMax: number
  #waiting: Waiting<Item, Answer>[] = []
  #underWay = 0

  constructor(all: AskTogether<Item, Answer>, itemsMax: number = Number.POSITIVE_INFINITY) {
    this.#all = all
    this.#itemsMax = itemsMax
  }

  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ item, resolve, reject }) > 1) return
      if (this.#underWay === 0) process.nextTick(() => this.#askAll())
      else setImmediate(() => this.#askAll())
    })
  }

  #askAll(): void {
    const all = this.#waiting
    this.#waiting = []
    for (let from = 0; from < all.length; from += this.#itemsMax) {
      this.#askFor(all.length <= this.#itemsMax ? all : all.slice(from, from + this.#itemsMax))
    }
  }

  #askFor(waiting: readonly Waiting<Item, Answer>[]): void {
    this.#underWay++
    this.#all(waiting.map(({ item }) => item)).then(
      answers => {
        this.#underWay--
        for (const [i, { resolve }] of waiting.entries()) resolve(answers[i]!)
      },
      error => {
        this.#underWay--
        for (const { reject } of waiting) reject(error)
      },
    )
  }
}
