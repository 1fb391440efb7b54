import { openRedisStore } from '@freshet/engines/redis'
import { startRedis } from '@freshet/engines/under-test/redis'
import { storesOver } from '../../testing/running-engine.js'
import { testBucketDeletion } from './under-test/test-bucket-deletion.js'

const open = storesOver(startRedis, ({ url }, number) =>
  openRedisStore({ url, name: `deletion-${number}`, onWarning: () => {} }),
)

testBucketDeletion('Redis', open)
