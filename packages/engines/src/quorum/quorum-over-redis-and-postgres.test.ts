import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgresStore } from '../postgres/index.js'
import { openRedisStore } from '../redis/index.js'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { essentialKit } from '../under-test/test-fleet-store.js'
import { WALK_SIZE } from '../under-test/walk-size.js'
import { testQuorum } from './under-test/quorum-conformance.js'

let redis: readonly RunningRedis[]
let postgres: RunningPostgres
beforeAll(async () => {
  // In memory: if a busy disk hid commits for a second, their keys would be put into the log twice.
  redis = await Promise.all([1, 2].map(() => startRedis()))
  postgres = await startPostgres()
})
afterAll(async () => {
  for (const server of redis) await server.stop()
  await endPostgres()
})

describe('two servers over two nodes of Redis and one of PostgreSQL', () => {
  testQuorum(
    () => {
      const name = randomUUID()
      const schema = `ring_${name.replaceAll('-', '')}`
      return [
        ...redis.map(({ url }) => ({ place: url, open: () => openRedisStore({ url, name, onWarning: () => {} }) })),
        { place: 'PostgreSQL', open: () => openPostgresStore({ url: postgres.url, schema, onWarning: () => {} }) },
      ]
    },
    { kit: essentialKit(), seed: 4, steps: WALK_SIZE.steps / 4, queryBuckets: WALK_SIZE.queryBuckets },
  )
})
