import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { openRedisStore } from '../redis/index.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { WALK_SIZE } from '../under-test/walk-size.js'
import { testQuorum } from './under-test/quorum-conformance.js'

let servers: readonly RunningRedis[]
beforeAll(async () => {
  // In memory: if a busy disk hid commits for a second, their keys would be put into the log twice.
  servers = await Promise.all([1, 2, 3].map(() => startRedis()))
})
afterAll(async () => {
  for (const server of servers) await server.stop()
})

describe('two servers over three nodes of Redis', () => {
  testQuorum(
    () => {
      const name = randomUUID()
      return servers.map(({ url }) => ({ place: url, open: () => openRedisStore({ url, name, onWarning: () => {} }) }))
    },
    { seed: 3, steps: WALK_SIZE.steps / 2, queryBuckets: WALK_SIZE.queryBuckets },
  )
})
