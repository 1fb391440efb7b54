/**
 * What nodes need from time to time, from whichever server comes first: to be brought up to the log when they were away, to have their own
 * logs, which nobody reads, trimmed; and that it is told what puts the quorum at risk.
 */
import { randomUUID } from 'node:crypto'
import type { LogDatabase } from '../log/log-database.js'
import type { QuorumNode } from './quorum-node.js'
import { isToRebuild, rebuildRows, rebuildVoice } from './rebuild-node.js'
import type { ReplicatedLog } from './replicated-log.js'
import type { ReplicatedRegisters } from './replicated-registers.js'
import type { ReplicatedRows } from './replicated-rows.js'

export interface RingUpkeepOptions {
  readonly nodes: readonly QuorumNode[]
  readonly log: ReplicatedLog
  readonly rows: ReplicatedRows
  readonly database: LogDatabase
  readonly registers: ReplicatedRegisters
  onWarning(text: string): void
}

const EVERY_MS = 500
const TRIM_EVERY_MS = 30_000
const HOLD_MS = 60_000

export class QuorumUpkeep {
  readonly #options: RingUpkeepOptions
  readonly #id = randomUUID()
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
    for (const { place, durability, isSilent } of nodes) {
      if (durability !== undefined && durability !== 'disk') {
        this.#warn(
          `${place} acknowledges what is not on disk: if its machine fails it forgets what it has voted, and the ring may lose what was acknowledged.`,
        )
      }
      if (isSilent) this.#warn(`${place} does not answer: the ring goes on without it, and has one less to lose.`)
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
    const { nodes, rows, database } = this.#options
    const isTrimming = performance.now() - this.#trimmedMs > TRIM_EVERY_MS
    if (isTrimming) this.#trimmedMs = performance.now()
    for (const [i, node] of nodes.entries()) {
      if (this.#isClosed) return
      try {
        await node.view(database.applied)
        if (node.isEmptied || node.needsRows || rows.nodeRows[i]!.isTooOld) await this.#rebuild(node, i)
        rows.nodeRows[i]!.raise(database.applied)
        if (isTrimming) await node.ask(async store => store.trim(await store.position()))
      } catch (error) {
        // It is away, or could not be helped: it is asked again soon.
        node.trouble = error
      }
    }
    this.inspect()
  }

  /** One server at a time; it is told when it begins, and when it is over. */
  async #rebuild(node: QuorumNode, at: number): Promise<void> {
    const { registers, rows, onWarning } = this.#options
    if (node.isEmptied && !(await isToRebuild(node))) {
      this.#warn(
        `${node.place} does not belong to this ring, and is not empty: it has no vote. Empty it, or name another.`,
      )
      return
    }
    if (!(await registers.hold(`rebuild ${at}`, this.#id, HOLD_MS))) return
    const lost = `${node.place} has lost what it had: it is given again what the others have.`
    this.#warn(lost)
    try {
      if (node.isEmptied) await rebuildVoice(node, this.#options)
      await rebuildRows(node, this.#options)
      rows.nodeRows[at]!.forget()
      this.#warned.delete(lost)
      onWarning(`${node.place} has again what the others have.`)
    } finally {
      await registers.hold(`rebuild ${at}`, this.#id, 0)
    }
  }

  #warn(text: string): void {
    if (this.#warned.has(text)) return
    this.#warned.add(text)
    this.#options.onWarning(text)
  }
}
