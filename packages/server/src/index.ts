export type { AccessConfig } from './access/access.js'
export { ACCESS_KEY, recallRules, restoredRules } from './access/access-record.js'
export { applyRules, type RulesApplied, type RulesChange } from './access/apply-rules.js'
export { type Audited, auditWrite } from './access/audit.js'
export type { KnownRules, RulesMemory } from './access/known-rules.js'
export { type OwnRules, putOwnRules, type StoredRulesChoice } from './access/put-own-rules.js'
export type { RateLimitConfig } from './access/rate-limits.js'
export { checkExamples } from './access/rules/check-examples.js'
export { type IndexesOfBucket, indexesFor } from './access/rules/indexes-for.js'
export { parseRules, type RulesRead } from './access/rules/parse-rules.js'
export type { RulesMistake } from './access/rules/rules-mistake.js'
export { type Widening, wideningsOf } from './access/rules/widening.js'
export { readToken, type SignOptions, signToken } from './access/sign-token.js'
export { objectionToTokens, TOKEN_AUDIENCE, TOKEN_LEEWAY_MS, type TokenConfig } from './access/token-config.js'
export { TokenVerifier } from './access/token-verifier.js'
export { type PlacedDatabase, placedAt } from './aggregates/placed-database.js'
export { misplacedCondition, RowPlaces, tableWithRows } from './aggregates/row-places.js'
export type { ShardedDatabase } from './aggregates/sharded-database.js'
export { readShards, type ShardsConfig, type ShardsRead } from './aggregates/shards-config.js'
export { type SplitOptions, type SplitProgress, splitShard } from './aggregates/split-shard.js'
export type { Doctor, DoctorTask } from './console/doctor.js'
export type { AllRecent, RecentItem, RecentKind } from './console/recent.js'
export { RecentLines } from './console/recent-lines.js'
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
