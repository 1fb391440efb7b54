/**
 * The work that every contender does: clients run one transaction after another, each of which reads a few objects and
 * increments some of them. This module counts the attempts and the commits.
 */
import type { Random } from '../../harness/random.js'

export const READS = 10
export const WRITES = 2
export const CLIENTS = 16

export interface Chosen {
  readonly ids: readonly string[]
  /** Those of them that the transaction increments. */
  readonly written: readonly string[]
}

export interface Contender {
  readonly name: string
  /**
   * Runs one transaction until it has committed. `isWorthIt` is called at the beginning of each attempt; if it returns false, the
   * transaction is given up, and the result is false.
   */
  transact(client: number, chosen: Chosen, isWorthIt: () => boolean): Promise<boolean>
  /** The sum of all counts, to detect lost updates. */
  total(): Promise<number>
  stop(): Promise<void>
}

export interface Measured {
  readonly contender: string
  readonly objects: number
  /** Commits within the measured time. */
  readonly commits: number
  readonly commitsPerSecond: number
  /** The share of refused attempts among those that ended within the measured time. */
  readonly abortRate: number
  /** The mean time from the first attempt to the answer to the commit. */
  readonly transactionMs: number
  /** Updates that should have been counted, and were not. */
  readonly lost: number
}

export interface Measurement {
  readonly contender: Contender
  readonly objects: number
  readonly measureMs: number
  readonly random: Random
}

export function idsOf(objects: number): string[] {
  return Array.from({ length: objects }, (_, i) => `item${i}`)
}

export async function measure({ contender, objects, measureMs, random }: Measurement): Promise<Measured> {
  const ids = idsOf(objects)
  const endsAtMs = performance.now() + measureMs
  const isOver = () => performance.now() >= endsAtMs
  const found = { commits: 0, aborts: 0, tookMs: 0, inAll: 0 }
  const runClient = async (client: number) => {
    const own = random.fork(`client ${client}`)
    while (!isOver()) {
      const chosen = choose(ids, own)
      const beganMs = performance.now()
      let attempts = 0
      const isDone = await contender.transact(client, chosen, () => {
        if (attempts++ > 0 && !isOver()) found.aborts++
        return !isOver()
      })
      if (!isDone) return
      found.inAll++
      const tookMs = performance.now() - beganMs
      // A transaction that commits after the end counts by the part done in time; otherwise slow contenders would lose out.
      const share = Math.min(1, (endsAtMs - beganMs) / tookMs)
      found.commits += share
      found.tookMs += share * tookMs
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => runClient(client)))
  const { commits, aborts, tookMs, inAll } = found
  return {
    contender: contender.name,
    objects,
    commits,
    commitsPerSecond: commits / (measureMs / 1000),
    abortRate: aborts / Math.max(1, aborts + commits),
    transactionMs: tookMs / Math.max(1, commits),
    lost: inAll * WRITES - (await contender.total()),
  }
}

function choose(ids: readonly string[], random: Random): Chosen {
  const chosen = new Set<string>()
  while (chosen.size < READS) chosen.add(random.pick(ids))
  const list = [...chosen]
  return { ids: list, written: list.slice(0, WRITES) }
}
