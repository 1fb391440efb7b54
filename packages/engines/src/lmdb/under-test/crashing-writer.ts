/**
 * Commits without pause, reports each commit once it is acknowledged, and waits to be killed. Each commit writes three keys
 * of its own in three buckets, and one that all commits share. Arguments: the folder, the round, the number of concurrent
 * commits.
 */
import type { Position, PutWrite } from '@freshet/core/store'
import { openEmbeddedStore } from '../index.js'

/** The report of a commit: its number, its position, and the clock when that was known. */
export type Acknowledged = readonly [number: number, position: Position, timeMs: number]

const [path, round, inFlight] = process.argv.slice(2) as [string, string, string]
const store = await openEmbeddedStore({ path })
process.send?.({ openedAt: store.position(), timeMs: store.nowMs() })
let last = 0

async function commitOn(): Promise<void> {
  for (;;) {
    const number = ++last
    const keys = [
      `crash/a-${round}/${number}`,
      `crash/b-${round}/${number}`,
      `crash/c-${round}/${number}`,
      'crash/a/shared',
    ]
    const result = await store.commit({ writes: keys.map(key => toWrite(key, number)) })
    if (!result.committed) throw new Error('A commit without reads met a conflict.')
    const acknowledged: Acknowledged = [number, result.position, store.nowMs()]
    process.send?.(acknowledged)
  }
}

function toWrite(key: string, number: number): PutWrite {
  return { key, contentType: 'text/plain', body: Buffer.from(`${number} `.repeat(1 + (number % 60))) }
}

await Promise.all(Array.from({ length: Number(inFlight) }, commitOn))
