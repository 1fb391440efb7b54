/**
 * Builds indexes in the background, step by step through the group commit, and removes what is left of dropped ones. How far
 * it has come is in the same transaction as what it has done: after a crash it goes on from there.
 */
import type { Key } from '@freshet/core/store'
import type { Batch } from '../batch.js'
import type { Engine } from '../engine.js'
import { decodeIndexes, decodeNumbers } from './index-records.js'

export interface IndexBuilderOptions {
  readonly engine: Engine
  readonly submit: <Result>(plan: (batch: Batch) => Result) => Promise<Result>
}

export class IndexBuilder {
  readonly #engine: Engine
  readonly #submit: IndexBuilderOptions['submit']
  #running: Promise<void> | undefined
  #isAsked = false
  #wasRefused = false
  #isStopped = false

  constructor({ engine, submit }: IndexBuilderOptions) {
    this.#engine = engine
    this.#submit = submit
  }

  /** Looks whether there is something to do. */
  wake(): void {
    this.#isAsked = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // Somebody may have asked between the last look and this.
      if (this.#isAsked && !this.#isStopped) this.wake()
    })
  }

  /** If a step was refused, tries it again. */
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
        await this.#buildAll()
        await this.#sweepAll()
      } catch {
        // A store that has failed tells whoever uses it; on a full disk, the next try may succeed.
        this.#wasRefused = true
      }
    }
  }

  async #buildAll(): Promise<void> {
    for (const bucket of this.#unbuilt()) {
      while (!this.#isStopped && (await this.#step(batch => batch.buildIndexes(bucket))));
    }
  }

  async #sweepAll(): Promise<void> {
    while (!this.#isStopped && this.#hasDropped()) await this.#step(batch => batch.sweepIndexes())
  }

  /** What goes wrong in deciding on a step must not take the commits of its batch with it. */
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
    this.#engine.refresh()
    const records = [...this.#engine.indexes.getRange({ start: '' })]
    return records.filter(({ value }) => decodeIndexes(value).some(index => !index.isReady)).map(({ key }) => key)
  }

  #hasDropped(): boolean {
    this.#engine.refresh()
    return decodeNumbers(this.#engine.meta.get('indexes')).dropped.length > 0
  }
}
