export { openRedisFilter, type RedisFilter, type RedisFilterOptions } from './redis-filter.js'
