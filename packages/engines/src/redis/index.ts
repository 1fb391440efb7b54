export { openRedisStore, type RedisStoreOptions } from './open-redis-store.js'
