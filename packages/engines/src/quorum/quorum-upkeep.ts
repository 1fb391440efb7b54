/**
 * Regular work on the nodes, by whichever server comes first: brings nodes that were away up to the log, trims the nodes' own
 * logs, which no server reads, and warns of what puts the quorum at risk.
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

  /** Warns of what is wrong with nodes, once. */
  inspect(): void {
    const { nodes } = this.#options
    if (nodes.length < 3) {
      this.#warn(`The ring has ${nodes.length} nodes: it does not survive the loss of one. Use three or five.`)
    }
    for (const { place, durability, isSilent } of nodes) {
      if (durability !== undefined && durability !== 'disk') {
        this.#warn(
          `${place} acknowledges writes that are not on disk: if its machine fails, it forgets its votes, and the ring may ` +
            'lose acknowledged writes.',
        )
      }
      if (isSilent) this.#warn(`${place} does not answer: the ring goes on without it, but can lose one node fewer.`)
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
        // The node is away, or the work failed: the next round tries again.
        node.trouble = error
      }
    }
    this.inspect()
  }

  /** Only one server at a time rebuilds a node. It warns when it begins, and reports when it has finished. */
  async #rebuild(node: QuorumNode, at: number): Promise<void> {
    const { registers, rows, onWarning } = this.#options
    if (node.isEmptied && !(await isToRebuild(node))) {
      this.#warn(
        `${node.place} does not belong to this ring, and is not empty: it has no vote. Empty it, or name another node.`,
      )
      return
    }
    if (!(await registers.hold(`rebuild ${at}`, this.#id, HOLD_MS))) return
    const lost = `${node.place} has lost its data: it is being rebuilt from the other nodes.`
    this.#warn(lost)
    try {
      if (node.isEmptied) await rebuildVoice(node, this.#options)
      await rebuildRows(node, this.#options)
      rows.nodeRows[at]!.forget()
      this.#warned.delete(lost)
      onWarning(`${node.place} has been rebuilt from the other nodes.`)
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
