/**
 * Builds indexes in the background, step by step through the group commit, and removes the entries of dropped ones. Each step
 * and the record of its progress are one transaction: after a crash the work continues from there.
 */
import type { Key } from '@freshet/core/store'
import { UpkeepLoop } from '@freshet/store/commits'
import { decodeIndexes, decodeNumbers } from '@freshet/store/indexes'
import type { Batch } from '../batch.js'
import type { Environment } from '../environment.js'

export interface IndexBuilderOptions {
  readonly environment: Environment
  readonly submit: <Result>(plan: (batch: Batch) => Result) => Promise<Result>
}

export class IndexBuilder {
  readonly #environment: Environment
  readonly #submit: IndexBuilderOptions['submit']
  readonly #loop = new UpkeepLoop(() => this.#lookAfterAll())

  constructor({ environment, submit }: IndexBuilderOptions) {
    this.#environment = environment
    this.#submit = submit
  }

  /** Checks whether there is something to do. */
  wake(): void {
    this.#loop.wake()
  }

  /** Tries a refused step again. */
  retry(): void {
    this.#loop.retry()
  }

  /** Resolves when no step is under way. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #lookAfterAll(): Promise<void> {
    await this.#buildAll()
    await this.#sweepAll()
  }

  async #buildAll(): Promise<void> {
    for (const bucket of this.#unbuilt()) {
      while (!this.#loop.isStopped && (await this.#step(batch => batch.buildIndexes(bucket))));
    }
  }

  async #sweepAll(): Promise<void> {
    while (!this.#loop.isStopped && this.#hasDropped()) await this.#step(batch => batch.sweepIndexes())
  }

  /** An error in deciding on a step must not fail the commits of its batch. */
  async #step<Result>(plan: (batch: Batch) => Result): Promise<Result> {
    const outcome = await this.#submit(batch => {
      try {
        return { result: plan(batch) }
      } catch (error) {
        return { error }
      }
    })
    if ('error' in outcome) throw outcome.error
    return outcome.result
  }

  #unbuilt(): readonly Key[] {
    this.#environment.refresh()
    const records = [...this.#environment.indexes.getRange({ start: '' })]
    return records.filter(({ value }) => decodeIndexes(value).some(index => !index.isReady)).map(({ key }) => key)
  }

  #hasDropped(): boolean {
    this.#environment.refresh()
    return decodeNumbers(this.#environment.meta.get('indexes')).dropped.length > 0
  }
}
