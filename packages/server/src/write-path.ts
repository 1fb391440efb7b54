/** What writes of every kind share: the schema check, idempotency, the audit, the recording and the commit. */
import { randomBytes } from 'node:crypto'
import { createIdMaker } from '@freshet/protocol'
import { AuditTrail } from './access/audit-trail.js'
import { SchemaGuard } from './buckets/schema-guard.js'
import { Idempotency } from './idempotency/idempotency.js'
import { type CacheConfig, tagHeadersOf } from './invalidation/cache-config.js'
import type { Metrics } from './monitoring/metrics.js'
import { RecentConflicts } from './monitoring/recent-conflicts.js'
import { createServerRecorder, type ServerRecorder, type ServerRecordOptions } from './recording/server-recorder.js'
import type { ServedData } from './served-data.js'
import { Committer } from './writing/committer.js'

export interface WritePathOptions {
  readonly data: ServedData
  readonly metrics: Metrics
  readonly caches: readonly CacheConfig[]
  readonly record: ServerRecordOptions | undefined
}

export class WritePath {
  readonly guard: SchemaGuard
  readonly idempotency: Idempotency
  readonly conflicts: RecentConflicts = new RecentConflicts()
  readonly trail: AuditTrail
  readonly recorder: ServerRecorder | undefined
  readonly committer: Committer
  readonly tagHeaders: ReturnType<typeof tagHeadersOf>
  readonly newId: ReturnType<typeof createIdMaker> = createIdMaker({ nowMs: Date.now, randomBytes })

  constructor({ data, metrics, caches, record }: WritePathOptions) {
    const { store, settings, log } = data
    this.guard = new SchemaGuard(store)
    this.idempotency = new Idempotency(store, metrics, settings)
    this.trail = new AuditTrail(store, log)
    this.recorder = record && createServerRecorder(record, store)
    this.tagHeaders = tagHeadersOf(caches)
    const { guard, idempotency, recorder } = this
    this.committer = new Committer({ ...data, metrics, guard, idempotency, recorder })
  }
}
