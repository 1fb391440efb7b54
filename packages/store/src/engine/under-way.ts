/** The work that has begun and not ended, so that closing can wait for it. */
export class UnderWay {
  readonly #works = new Set<Promise<unknown>>()

  during<Result>(work: Promise<Result>): Promise<Result> {
    this.#works.add(work)
    return work.finally(() => this.#works.delete(work))
  }

  /** Resolves when all work that has begun by now has ended, whether it failed or not. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#works)
  }
}
