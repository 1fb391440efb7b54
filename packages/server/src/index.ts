export type { ShardedDatabase } from './aggregates/sharded-database.js'
export { readShards, type ShardsConfig, type ShardsRead } from './aggregates/shards-config.js'
export { type JsonNode, parseJsonTree } from './data/json-text.js'
export {
  createFreshetServer,
  type FreshetServer,
  type FreshetServerOptions,
  type Listening,
  type ListenOptions,
} from './freshet-server.js'
export { type CacheConfig, type CacheKindName, type CachesRead, readCaches } from './invalidation/cache-config.js'
export type { PageFile } from './operations/demo-page.js'
export {
  createJsonLog,
  describeError,
  type JsonLogOptions,
  type Log,
  type LogFields,
  type LogLevel,
} from './operations/log.js'
export { addUpMetrics, type MetricFamily } from './operations/metrics.js'
export type { AllMetrics } from './operations/operations-routes.js'
export type { ServerRecordOptions } from './recording/server-recorder.js'
export { DEFAULT_SETTINGS, type ServerSettings } from './settings.js'
