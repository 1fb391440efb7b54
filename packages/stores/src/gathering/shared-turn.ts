/**
 * What is asked for in one turn of the event loop goes together: a busy server has many requests in each. Nothing waits for it; what comes
 * alone is sent in the same turn, alone.
 */
interface Waiting<Item, Answer> {
  readonly item: Item
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export class SharedTurn<Item, Answer> {
  readonly #all: (items: readonly Item[]) => Promise<readonly Answer[]>
  readonly #itemsMax: number
  #waiting: Waiting<Item, Answer>[] = []

  constructor(
    all: (items: readonly Item[]) => Promise<readonly Answer[]>,
    itemsMax: number = Number.POSITIVE_INFINITY,
  ) {
    this.#all = all
    this.#itemsMax = itemsMax
  }

  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#askAll())
      this.#waiting.push({ item, resolve, reject })
    })
  }

  #askAll(): void {
    const all = this.#waiting
    this.#waiting = []
    for (let from = 0; from < all.length; from += this.#itemsMax) this.#askFor(all.slice(from, from + this.#itemsMax))
  }

  #askFor(waiting: readonly Waiting<Item, Answer>[]): void {
    this.#all(waiting.map(({ item }) => item)).then(
      answers => {
        for (const [i, { resolve }] of waiting.entries()) resolve(answers[i]!)
      },
      error => {
        for (const { reject } of waiting) reject(error)
      },
    )
  }
}
