/**
 * Work of a store in the background that is begun whenever there may be something to do. It never runs twice at a time: who wakes it
 * while it runs makes it look once more.
 */
export class UpkeepLoop {
  readonly #work: () => Promise<void>
  #running: Promise<void> | undefined
  #isAsked = false
  #wasRefused = false
  #isStopped = false

  /** `work` looks at `isStopped` between its steps. */
  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Looks whether there is something to do. */
  wake(): void {
    if (this.#isStopped) return
    this.#isAsked = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // It may have been woken between the last look and this.
      if (this.#isAsked) this.wake()
    })
  }

  /** If it failed, tries again. */
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
        // An engine that is gone tells whoever uses the store; on a full disk, the next try may succeed.
        this.#wasRefused = true
      }
    }
  }
}
