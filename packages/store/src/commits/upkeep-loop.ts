/**
 * Background work of a store, started whenever there may be something to do. It never runs twice at a time: `wake` during a
 * run makes it check once more.
 */
export class UpkeepLoop {
  readonly #work: () => Promise<void>
  #running: Promise<void> | undefined
  #isAsked = false
  #wasRefused = false
  #isStopped = false

  /** `work` checks `isStopped` between its steps. */
  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Checks whether there is something to do. */
  wake(): void {
    if (this.#isStopped) return
    this.#isAsked = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // `wake` may have been called between the last check and this.
      if (this.#isAsked) this.wake()
    })
  }

  /** Tries again if the last run failed. */
  retry(): void {
    if (!this.#wasRefused) return
    this.#wasRefused = false
    this.wake()
  }

  /** Resolves when no step is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false
      try {
        await this.#work()
      } catch {
        // If the engine is gone, the next read or commit reports it; if the disk is full, the next try may succeed.
        this.#wasRefused = true
      }
    }
  }
}
