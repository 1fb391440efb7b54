/**
 * Calls take effect in the order they were made, awaited or not. The thesis puts all of them into one queue. Here consecutive
 * reads are loaded at the same time, and only their results are taken in one after the other. A change waits for all calls
 * before it, and all calls after it wait for the change. A failed call does not prevent the next.
 */
export class ProgramOrder {
  /** Resolves when the last change is done. */
  #changed: Promise<unknown> = Promise.resolve()
  /** Resolves when the last change and every read since are done. */
  #allDone: Promise<unknown> = Promise.resolve()

  /** `load` must change nothing; `take` is called in turn. */
  read<Loaded, Result>(load: () => Loaded | Promise<Loaded>, take: (loaded: Loaded) => Result): Promise<Result> {
    const before = this.#allDone
    const loaded = this.#changed.then(load)
    // Settled first, so that an early failure is not reported as unhandled before its turn.
    const done = settled(loaded)
      .then(() => before)
      .then(() => loaded)
      .then(take)
    this.#allDone = settled(done)
    return done
  }

  change<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const done = this.#allDone.then(work)
    this.#changed = settled(done)
    this.#allDone = this.#changed
    return done
  }
}

/** Drops the value, so that a long chain keeps nothing alive. */
function settled(done: Promise<unknown>): Promise<void> {
  return done.then(
    () => undefined,
    () => undefined,
  )
}
