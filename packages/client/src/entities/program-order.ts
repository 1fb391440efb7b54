/**
 * Calls take effect in the order they were made, awaited or not. The thesis puts all of them into one queue; here reads
 * that stand next to each other travel together, and only what they bring is taken in one after the other. What changes
 * something waits for all before it, and is waited for by all after it. One that fails does not keep the next from being
 * done.
 */
export class ProgramOrder {
  /** When the last change is done. */
  #changed: Promise<unknown> = Promise.resolve()
  /** When that and every read since are. */
  #allDone: Promise<unknown> = Promise.resolve()

  /** `load` must change nothing; `take` is called in turn. */
  read<Loaded, Result>(load: () => Loaded | Promise<Loaded>, take: (loaded: Loaded) => Result): Promise<Result> {
    const before = this.#allDone
    const loaded = this.#changed.then(load)
    // Settled first, so that what fails early is not called unhandled while its turn has not come.
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

/** Without its value, so that a long chain keeps nothing alive. */
function settled(done: Promise<unknown>): Promise<void> {
  return done.then(
    () => undefined,
    () => undefined,
  )
}
