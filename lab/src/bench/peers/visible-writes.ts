/** How long after a write by SQL another client shows it: the part that is the same for Zero and for Freshet. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { median } from '../../harness/side-by-side.js'

export type VisibleMeasure = 'visible'
export type VisibleWorker = Pick<ContenderWorker<never, undefined, VisibleMeasure>, 'round'>

/** Resolves when the client shows the row with this number, or a later one. */
export type Shown = (n: number) => Promise<void>

export const VISIBLE_TABLE: string = `
  CREATE TABLE products (id text PRIMARY KEY, n integer NOT NULL);
  INSERT INTO products VALUES ('tea', 0)`
const WRITES = 20
/** Between writes, so that each is sent alone. Not a divisor of the intervals at which servers gather changes. */
const PAUSE_MS = 37

/** A round: writes one after the other; the reading is the median. */
export async function openVisibleWrites(postgresUrl: string, shown: Shown): Promise<VisibleWorker> {
  const client = new pg.Client({ connectionString: postgresUrl })
  await client.connect()
  await shown(0)
  let n = 0
  return {
    async round() {
      const times: number[] = []
      for (let write = 0; write < WRITES; write++) {
        n++
        await client.query('UPDATE products SET n = $1', [n])
        const acknowledgedMs = performance.now()
        await shown(n)
        times.push((performance.now() - acknowledgedMs) * 1e6)
        await delay(PAUSE_MS)
      }
      return { visible: median(times) }
    },
  }
}
