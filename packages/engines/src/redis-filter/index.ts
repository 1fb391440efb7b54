export { openRedisFilter, type RedisFilter, type RedisFilterOptions } from './redis-filter.js'
export {
  openWindowedRedisFilter,
  type WindowedRedisFilter,
  type WindowedRedisFilterOptions,
} from './windowed-redis-filter.js'
