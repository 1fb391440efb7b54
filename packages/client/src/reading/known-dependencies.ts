/**
 * What the answers to queries hung on when they were last seen, so that the next one is asked for at the right position at
 * once. What has been forgotten costs one request: the answer says it itself.
 */
import type { Path } from '@freshet/protocol'

const COUNT_MAX = 1000

export class KnownDependencies {
  /** By the name of the query; the latest last. */
  readonly #paths = new Map<string, readonly Path[]>()

  get(name: string): readonly Path[] | undefined {
    return this.#paths.get(name)
  }

  set(name: string, paths: readonly Path[]): void {
    this.#paths.delete(name)
    this.#paths.set(name, paths)
    if (this.#paths.size <= COUNT_MAX) return
    for (const oldest of this.#paths.keys()) {
      this.#paths.delete(oldest)
      break
    }
  }
}
