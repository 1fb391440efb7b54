export type { AccessConfig } from './access/access.js'
export { ACCESS_KEY, recallRules, restoredRules } from './access/access-record.js'
export { applyRules, type RulesApplied, type RulesChange } from './access/apply-rules.js'
export { type Audited, auditWrite } from './access/audit.js'
export type { KnownRules, RulesMemory } from './access/known-rules.js'
export { type OwnRules, putOwnRules, type StoredRulesChoice } from './access/put-own-rules.js'
export type { RateLimitConfig } from './access/rate-limits.js'
export { readToken, type SignOptions, signToken } from './access/sign-token.js'
export { TokenVerifier } from './access/token-verifier.js'
export type { PageFile } from './api/console/demo-page.js'
export type { Doctor, DoctorTask } from './api/console/doctor.js'
export type { AllMetrics } from './api/status/status-routes.js'
export {
  createFreshetServer,
  type FreshetServer,
  type FreshetServerOptions,
  type Listening,
  type ListenOptions,
} from './freshet-server.js'
export { addUpMetrics, type MetricFamily } from './monitoring/metrics.js'
export type { AllRecent, RecentItem, RecentKind } from './monitoring/recent.js'
export { RecentLines } from './monitoring/recent-lines.js'
export type { ServerRecordOptions } from './recording/server-recorder.js'
export type { JoinCapability } from './routing/capability.js'
