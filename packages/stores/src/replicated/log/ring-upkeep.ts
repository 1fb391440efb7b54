/**
 * What nodes need from time to time, from whichever server comes first: to be brought up to the log when they were away, to have their own
 * logs, which nobody reads, trimmed; and that it is told what puts the ring at risk.
 */
import type { Engine } from '../../logged/engine.js'
import type { ReplicatedLog } from './replicated-log.js'
import type { ReplicatedRows } from './replicated-rows.js'
import type { RingNode } from './ring-node.js'

export interface RingUpkeepOptions {
  readonly nodes: readonly RingNode[]
  readonly log: ReplicatedLog
  readonly rows: ReplicatedRows
  readonly engine: Engine
  onWarning(text: string): void
}

const EVERY_MS = 500
const TRIM_EVERY_MS = 30_000

export class RingUpkeep {
  readonly #options: RingUpkeepOptions
  readonly #timer: NodeJS.Timeout
  readonly #warned = new Set<string>()
  #trimmedMs = performance.now()
  #working: Promise<void> | undefined
  #isClosed = false

  constructor(options: RingUpkeepOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#begin(), EVERY_MS).unref()
  }

  /** Tells what is wrong with nodes, once. */
  inspect(): void {
    const { nodes } = this.#options
    if (nodes.length < 3) {
      this.#warn(`The ring has ${nodes.length} nodes: it does not survive the loss of one. Have three, or five.`)
    }
    for (const { place, durability, isSilent, isEmptied } of nodes) {
      if (durability !== undefined && durability !== 'disk') {
        this.#warn(
          `${place} acknowledges what is not on disk: if its machine fails it forgets what it has voted, and the ring may lose what was acknowledged.`,
        )
      }
      if (isSilent) this.#warn(`${place} does not answer: the ring goes on without it, and has one less to lose.`)
      if (isEmptied && !isSilent) this.#warn(`${place} has lost what it had, and has no vote.`)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#working
  }

  #begin(): void {
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
    })
  }

  async #work(): Promise<void> {
    const { nodes, rows, engine } = this.#options
    const isTrimming = performance.now() - this.#trimmedMs > TRIM_EVERY_MS
    if (isTrimming) this.#trimmedMs = performance.now()
    for (const [i, node] of nodes.entries()) {
      if (this.#isClosed) return
      try {
        await node.view(engine.applied)
        rows.nodeRows[i]!.raise(engine.applied)
        if (isTrimming) await node.ask(async store => store.trim(await store.position()))
      } catch {
        // It is away; it is asked again soon.
      }
    }
    this.inspect()
  }

  #warn(text: string): void {
    if (this.#warned.has(text)) return
    this.#warned.add(text)
    this.#options.onWarning(text)
  }
}
