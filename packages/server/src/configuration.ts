/**
 * The entry point for programs that read or check a server's configuration: settings, caches, rules and tokens, and how both
 * log. It does not load the server itself, so a command that only reads its flags starts quickly.
 */
export { checkExamples } from './access/rules/check-examples.js'
export { type IndexesOfBucket, indexesFor } from './access/rules/indexes-for.js'
export { parseRules, type RulesRead } from './access/rules/parse-rules.js'
export type { RulesMistake } from './access/rules/rules-mistake.js'
export { type Widening, wideningsOf } from './access/rules/widening.js'
export { objectionToTokens, TOKEN_AUDIENCE, TOKEN_LEEWAY_MS, type TokenConfig } from './access/token-config.js'
export { type CacheConfig, type CacheKindName, type CachesRead, readCaches } from './invalidation/cache-config.js'
export { type JsonNode, parseJsonTree } from './json/json-text.js'
export {
  createJsonLog,
  describeError,
  type JsonLogOptions,
  type Log,
  type LogFields,
  type LogLevel,
} from './monitoring/log.js'
export { flagOf, variableOf } from './settings/limits.js'
export { DEFAULT_SETTINGS, type ServerSettings } from './settings/server-settings.js'
