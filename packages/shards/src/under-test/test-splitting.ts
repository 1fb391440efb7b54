/** For tests: random queries, sent to the shards and to one server. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { loadSqlParser } from '../parse/parse-sql.js'
import { compareAnswers, type Tally } from './compare-answers.js'
import { randomQueries } from './random-queries.js'
import type { ShardedEngine } from './sharded-engine.js'

const QUERIES = Number(process.env.FRESHET_QUERIES ?? 500)

/** Prints how many queries were refused, and why. */
export async function testSplitting(name: string, { map, shards, whole }: ShardedEngine): Promise<void> {
  const parser = await loadSqlParser()
  const catalog = await shards[0]!.catalog()
  const tally: Tally = { asked: 0, refused: 0, narrowed: 0, reasons: new Map() }
  const setup = { parser, map, catalog, shards, whole, tally }
  await fc.assert(
    fc.asyncProperty(randomQueries(), asked => compareAnswers(setup, asked)),
    { numRuns: QUERIES },
  )
  const share = Math.round((100 * tally.refused) / tally.asked)
  console.log(
    `${name}: ${tally.asked} queries, ${tally.refused} refused (${share}%), ${tally.narrowed} from wider ranges`,
    [...tally.reasons],
  )
  expect(tally.refused).toBeGreaterThan(0)
  expect(tally.narrowed).toBeGreaterThan(0)
  expect(share).toBeLessThan(60)
}
