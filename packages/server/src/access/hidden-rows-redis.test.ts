/** Whatever rows are hidden from a caller, the answers are the same: over Redis. */
import { openRedisStore } from '@freshet/engines/redis'
import { startRedis } from '@freshet/engines/under-test/redis'
import { storesOver } from '../testing/running-engine.js'
import { testHiddenRows } from './under-test/test-hidden-rows.js'

const open = storesOver(startRedis, ({ url }, number) =>
  openRedisStore({ url, name: `hidden-${number}`, onWarning: () => undefined }),
)

testHiddenRows('Redis', open, { seedFirst: 400, seeds: 4, requests: 50 })
