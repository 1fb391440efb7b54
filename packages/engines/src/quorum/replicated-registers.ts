/**
 * Numbers that only grow: they are written to a majority of the nodes and read from a majority, so every read sees every
 * earlier write. And the holders of names, by a majority.
 */

import { EngineLost } from '@freshet/store/engine'
import type { Registers } from '../log/log-storage.js'
import { CLOCKS, VOICE, type Voice } from './node-keys.js'
import { jsonWrite, parse, type QuorumNode } from './quorum-node.js'
import type { ReplicatedLog } from './replicated-log.js'

type Numbers = Readonly<Record<string, number>>

const TRIES_MAX = 5

export class ReplicatedRegisters implements Registers {
  readonly #log: ReplicatedLog

  constructor(log: ReplicatedLog) {
    this.#log = log
  }

  async raise(values: ReadonlyMap<string, number>): Promise<void> {
    await this.#log.majority(node => this.#raise(node, values))
  }

  async highest(): Promise<ReadonlyMap<string, number>> {
    const found = await this.#log.majority(async node => (await this.#read(node)).numbers)
    const highest = new Map<string, number>()
    for (const numbers of found) {
      for (const [name, value] of Object.entries(numbers)) {
        highest.set(name, Math.max(value, highest.get(name) ?? Number.NEGATIVE_INFINITY))
      }
    }
    return highest
  }

  /**
   * Each node grants the name by its own clock, as a store does. A server without a majority releases its nodes, so that
   * another can win.
   */
  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    const holds = async (node: QuorumNode) => node.ask(store => store.hold(`.ring/${name}`, holder, ms))
    const granted: QuorumNode[] = []
    const refused: QuorumNode[] = []
    try {
      await this.#log.majority(async node => {
        if (await holds(node)) granted.push(node)
        else {
          refused.push(node)
          throw new Error('Another server holds it.')
        }
      })
      return true
    } catch (error) {
      if (refused.length === 0 || !(error instanceof EngineLost)) throw error
      for (const node of granted) await node.ask(store => store.hold(`.ring/${name}`, holder, 0)).catch(() => undefined)
      return false
    }
  }

  async #raise(node: QuorumNode, values: ReadonlyMap<string, number>): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { numbers, version } = await this.#read(node)
      const higher = [...values].filter(([name, value]) => value > (numbers[name] ?? Number.NEGATIVE_INFINITY))
      if (higher.length === 0) return
      const next = { ...numbers, ...Object.fromEntries(higher) }
      const reads = [{ key: CLOCKS, version }]
      if ((await node.commit({ reads, writes: [jsonWrite(CLOCKS, next)] })) !== undefined) return
    }
    throw new Error(`Other servers were always first at ${node.place}.`)
  }

  async #read(node: QuorumNode): Promise<{ readonly numbers: Numbers; readonly version: number }> {
    const [voice, clocks] = await node.read([VOICE, CLOCKS])
    if (voice === undefined || (parse(voice) as Voice).ring !== node.ring) throw new Error(`${node.place} is empty.`)
    return { numbers: clocks ? (parse(clocks) as Numbers) : {}, version: clocks?.version ?? 0 }
  }
}
