/** What is asked for in one turn of the event loop goes together. */
interface Waiting<Item, Answer> {
  readonly item: Item
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export class SharedTurn<Item, Answer> {
  readonly #all: (items: readonly Item[]) => Promise<readonly Answer[]>
  #waiting: Waiting<Item, Answer>[] = []

  constructor(all: (items: readonly Item[]) => Promise<readonly Answer[]>) {
    this.#all = all
  }

  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // When the promises that are ready now have had their say: those who asked together before ask together again.
      if (this.#waiting.length === 0) process.nextTick(() => this.#askAll())
      this.#waiting.push({ item, resolve, reject })
    })
  }

  #askAll(): void {
    const waiting = this.#waiting
    this.#waiting = []
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
