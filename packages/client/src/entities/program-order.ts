/**
 * Calls take effect in the order they were made, awaited or not. The thesis has one queue; here reads that stand next to
 * each other are under way together, since none of them can tell: only what changes something waits for all before it,
 * and is waited for by all after it. One that fails does not keep the next from being done.
 */
export class ProgramOrder {
  /** When the last change is done. */
  #changed: Promise<unknown> = Promise.resolve()
  /** When that and every read since are. */
  #allDone: Promise<unknown> = Promise.resolve()

  read<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const done = this.#changed.then(work)
    const before = this.#allDone
    this.#allDone = settled(done).then(() => before)
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
