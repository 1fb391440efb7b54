/** The rooms of one server, put together in the order they depend on one another. */
import { randomBytes } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import { createIdMaker } from '@freshet/protocol'
import { Access, type AccessConfig } from './access/access.js'
import { AccessRoutes } from './access/access-routes.js'
import { AuditTrail } from './access/audit-trail.js'
import { CursorSeals } from './access/cursor-seals.js'
import type { RulesMemory } from './access/known-rules.js'
import type { StoredRulesChoice } from './access/put-own-rules.js'
import { quotaGauges, UsageCounter } from './access/quotas/usage-counter.js'
import type { RateLimitConfig } from './access/rate-limits.js'
import type { ShardedDatabase } from './aggregates/sharded-database.js'
import { SqlRoutes } from './aggregates/sql-routes.js'
import { CoherenceRoutes } from './coherence/coherence-routes.js'
import { EventStreams } from './coherence/event-streams.js'
import { LogFollower } from './coherence/log-follower.js'
import { PositionWaits } from './coherence/position-waits.js'
import { Upkeep } from './coherence/upkeep.js'
import { ConsoleFiles } from './console/console-files.js'
import { ConsoleRoutes } from './console/console-routes.js'
import type { Doctor } from './console/doctor.js'
import type { AllRecent, RecentItem, RecentKind } from './console/recent.js'
import { RecentConflicts } from './console/recent-conflicts.js'
import { RecentLines } from './console/recent-lines.js'
import { CounterAdditions } from './counters/counter-additions.js'
import { CounterTotals } from './counters/counter-totals.js'
import { BucketDeletion } from './data/bucket-deletion.js'
import { BucketDirectory } from './data/bucket-directory.js'
import { BucketRoutes } from './data/bucket-routes.js'
import { CommitRoute } from './data/commit-route.js'
import { HotObjects } from './data/hot-objects.js'
import { ListReader } from './data/list-reader.js'
import { ObjectReader } from './data/object-reader.js'
import { ObjectRoutes } from './data/object-routes.js'
import { ObjectWriter } from './data/object-writer.js'
import { QueryReader } from './data/query-reader.js'
import { VisibleRows } from './data/visible-rows.js'
import { Keeper } from './fleet/keeper.js'
import { BodyIntake } from './http/body-intake.js'
import type { Route } from './http/call.js'
import { ClientAddresses } from './http/client-addresses.js'
import { Cors } from './http/cors.js'
import { LocalDoor } from './http/local-door.js'
import { RefusalLog } from './http/refusal-log.js'
import { Replies } from './http/replies.js'
import { ResponseDeadlines } from './http/response-deadlines.js'
import { Router } from './http/router.js'
import { WholeAnswers } from './http/whole-answers.js'
import { Idempotency } from './idempotency/idempotency.js'
import { IdempotencyRoute } from './idempotency/idempotency-route.js'
import { type CacheConfig, tagHeadersOf } from './invalidation/cache-config.js'
import { Invalidation } from './invalidation/invalidation.js'
import { DemoPage, type PageFiles } from './operations/demo-page.js'
import { describeError, type Log } from './operations/log.js'
import { type Gauge, type MetricFamily, Metrics } from './operations/metrics.js'
import { type AllMetrics, OperationsRoutes } from './operations/operations-routes.js'
import { Readiness } from './operations/readiness.js'
import { storeGauges } from './operations/store-gauges.js'
import { createServerRecorder, type ServerRecordOptions } from './recording/server-recorder.js'
import { reportSchemas } from './schemas/report-schemas.js'
import { SchemaChanges } from './schemas/schema-changes.js'
import { SchemaGuard } from './schemas/schema-guard.js'
import type { ServerSettings } from './settings.js'
import { TaskRoutes } from './tasks/task-routes.js'
import { TaskRunner } from './tasks/task-runner.js'

export interface PartsOptions {
  readonly access?: AccessConfig | undefined
  readonly putsRules?: boolean
  readonly storedRules?: StoredRulesChoice | undefined
  readonly rulesMemory?: RulesMemory | undefined
  readonly limits?: RateLimitConfig | undefined
  readonly trustedProxies?: readonly string[] | undefined
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly page: PageFiles
  readonly console?: PageFiles
  readonly doctor?: Doctor | undefined
  readonly allRecent?: AllRecent | undefined
  readonly caches?: readonly CacheConfig[]
  readonly record?: ServerRecordOptions | undefined
  readonly allMetrics?: AllMetrics | undefined
  readonly shards?: ShardedDatabase | undefined
}

export interface ServerParts {
  readonly settings: ServerSettings
  readonly log: Log
  readonly routes: readonly Route[]
  readonly router: Router
  readonly replies: Replies
  readonly reader: ObjectReader
  readonly access: Access
  readonly intake: BodyIntake
  /** Undefined where requests may be from anywhere. */
  readonly door: LocalDoor | undefined
  readMetrics(): readonly MetricFamily[]
  readRecent(kind: RecentKind): readonly RecentItem[]
  start(): Promise<void>
  /** Ends what would otherwise not end by itself. */
  endStreams(): void
  stop(): Promise<void>
}

const VERSION = '0.1.0'

export function createParts({ page, console = {}, doctor, allMetrics, allRecent, ...rest }: PartsOptions): ServerParts {
  const { store, settings, caches = [], shards } = rest
  const lines = new RecentLines()
  const log = lines.listenTo(rest.log)
  const base = createBase({ ...rest, log })
  const writer = new ObjectWriter(base)
  const reader = new ObjectReader({ ...base, logsRequests: log.level === 'request' })
  const additions = new CounterAdditions({ settings, writer })
  const objects = new ObjectRoutes({ settings, access: base.access, reader, writer, additions, newId: base.newId })
  const readers = { ...base, rows: new VisibleRows(base), seals: new CursorSeals(store) }
  const lists = new ListReader(readers)
  const totals = new CounterTotals(readers)
  const queries = new QueryReader(readers)
  const gauges = gaugesOf(base)
  const hasShards = shards !== undefined
  const consoleRoutes = new ConsoleRoutes({ ...base, lines, caches, doctor, allRecent, hasShards, version: VERSION })
  const routes: readonly Route[] = [
    ...new DemoPage(store, page, VERSION).routes(),
    ...new BucketRoutes({
      ...base,
      lists,
      totals,
      queries,
      objects,
      additions,
      schemas: new SchemaChanges(base),
      deletion: new BucketDeletion(base),
    }).routes(),
    objects.route(),
    new CommitRoute({ ...base, writer }).route(),
    ...new TaskRoutes(base).routes(),
    new IdempotencyRoute(store, base.metrics).route(),
    ...base.sql.routes(),
    ...new CoherenceRoutes(base).routes(),
    ...new AccessRoutes(base).routes(),
    ...new ConsoleFiles(console).routes(),
    ...consoleRoutes.routes(),
    ...new OperationsRoutes({
      ...base,
      gauges,
      allMetrics,
      isStopping: () => base.replies.isStopping,
      version: VERSION,
    }).routes(),
  ]
  return {
    settings,
    log,
    routes,
    reader,
    access: base.access,
    intake: base.intake,
    door: settings.corsOrigins === 'auto' && !base.access.isOn ? new LocalDoor() : undefined,
    replies: base.replies,
    readMetrics: () => base.metrics.read(gauges),
    readRecent: kind => consoleRoutes.readRecent(kind),
    router: new Router(routes, base.cors, settings.urlBytesMax),
    ...lifecycleOf(base),
  }
}

function createBase({
  store,
  settings,
  log,
  caches = [],
  record,
  access: accessConfig,
  putsRules = true,
  storedRules,
  rulesMemory,
  limits,
  trustedProxies,
  shards,
}: Omit<PartsOptions, 'page' | 'console' | 'doctor' | 'allMetrics' | 'allRecent'>) {
  const metrics = new Metrics()
  const cors = new Cors(settings.corsOrigins)
  const deadlines = new ResponseDeadlines(settings.responseMsMax)
  const whole = new WholeAnswers(settings.keepAliveMs)
  const readiness = new Readiness({ store, bodyBytesMax: settings.bodyBytesMax })
  const clients = new ClientAddresses(trustedProxies)
  const replies = new Replies({
    cors,
    deadlines,
    metrics,
    log,
    whole,
    readiness,
    refusals: new RefusalLog(log, clients),
  })
  const buckets = new BucketDirectory(store, settings)
  const hot = new HotObjects(settings.hotCacheBytesMax)
  const intake = new BodyIntake(settings, clients)
  const access = new Access({ store, log, config: accessConfig, storedRules, limits, clients, putsRules, rulesMemory })
  // Heads made under other rules say other things.
  access.onChange = () => buckets.revision++
  const follower = new LogFollower(store, settings, buckets, hot, access)
  access.catchUp = () => follower.catchUp()
  const waits = new PositionWaits(store, settings)
  const events = new EventStreams({ follower, settings, log })
  const keeper = new Keeper({ store, settings, log })
  const upkeep = new Upkeep({ store, follower, settings, log, keeper })
  const invalidation = new Invalidation({ caches, store, settings, log, keeper })
  const tagHeaders = tagHeadersOf(caches)
  const recorder = record && createServerRecorder(record, store)
  const guard = new SchemaGuard(store)
  const idempotency = new Idempotency(store, metrics, settings)
  const trail = new AuditTrail(store, log)
  const tasks = new TaskRunner({ store, settings, follower, buckets, guard, recorder, log, keeper, access })
  const usage = new UsageCounter({ store, access, buckets, follower, keeper, log })
  return {
    ...{
      store,
      settings,
      log,
      metrics,
      cors,
      deadlines,
      whole,
      replies,
      readiness,
      buckets,
      hot,
      follower,
      waits,
      events,
      upkeep,
    },
    ...{
      keeper,
      invalidation,
      tagHeaders,
      recorder,
      guard,
      idempotency,
      tasks,
      usage,
      access,
      intake,
      conflicts: new RecentConflicts(),
      trail,
      sql: new SqlRoutes({ shards, settings, log, replies, trail }),
      newId: createIdMaker({ nowMs: Date.now, randomBytes }),
    },
  }
}

type Base = ReturnType<typeof createBase>

function lifecycleOf({
  store,
  log,
  buckets,
  guard,
  metrics,
  deadlines,
  follower,
  waits,
  events,
  upkeep,
  keeper,
  invalidation,
  recorder,
  tasks,
  usage,
  access,
  intake,
  sql,
  trail,
  idempotency,
}: Base) {
  let stopListening: () => void = () => undefined
  const onCommit = async () => {
    waits.wake()
    invalidation.wake()
    try {
      await follower.catchUp()
    } catch (error) {
      log.write('error', 'following the log failed', describeError(error))
    }
  }
  return {
    start: async () => {
      await access.start()
      await recorder?.start()
      await follower.start()
      await reportSchemas(buckets, guard, log)
      await idempotency.former.start()
      stopListening = store.onCommit(onCommit)
      await keeper.start()
      upkeep.start()
      tasks.start()
      usage.start()
      sql.start()
      await invalidation.start()
    },
    endStreams: () => {
      waits.stop()
      events.stop()
    },
    stop: async () => {
      stopListening()
      await sql.stop()
      await trail.stop()
      await tasks.stop()
      await usage.stop()
      await recorder?.stop()
      deadlines.close()
      intake.close()
      metrics.close()
      await upkeep.stop()
      await invalidation.stop()
      await keeper.stop()
    },
  }
}

function gaugesOf({
  store,
  follower,
  buckets,
  events,
  waits,
  deadlines,
  invalidation,
  sql,
  access,
  intake,
}: Base): readonly Gauge[] {
  return [
    { name: 'freshet_log_position', help: 'The last commit known.', value: () => follower.position },
    {
      name: 'freshet_log_lag_seconds',
      help: 'How long ago all of the log was known.',
      value: () => Math.max(0, store.nowMs() - follower.asOfMs) / 1000,
    },
    {
      name: 'freshet_sketch_segments',
      help: 'Closed segments in the window.',
      value: () => follower.sketch.size().segments,
    },
    {
      name: 'freshet_sketch_changes',
      help: 'Paths changed in the window.',
      value: () => follower.sketch.size().changes,
    },
    {
      name: 'freshet_sketch_bytes',
      help: 'What a reader who comes anew is sent of the sketch.',
      value: () => follower.sketch.cost().bytes,
    },
    {
      name: 'freshet_sketch_false_positive_rate',
      help: 'How often the sketch is expected to take for changed what is not, as it is now.',
      value: () => follower.sketch.cost().falsePositiveRate,
    },
    { name: 'freshet_buckets', help: 'Buckets.', value: () => buckets.size },
    { name: 'freshet_event_clients', help: 'Readers of /coherence/events.', together: 'sum', value: () => events.size },
    {
      name: 'freshet_event_clients_cut',
      type: 'counter',
      help: 'Those cut because they did not read.',
      value: () => events.cut,
    },
    {
      name: 'freshet_position_waiters',
      help: 'Requests waiting for a position.',
      together: 'sum',
      value: () => waits.size,
    },
    {
      name: 'freshet_responses_cut',
      type: 'counter',
      help: 'Responses that took too long to leave.',
      value: () => deadlines.cut,
    },
    {
      name: 'freshet_bodies_held_bytes',
      help: 'Bodies of requests that are not answered yet.',
      together: 'sum',
      value: () => intake.held,
    },
    {
      name: 'freshet_bodies_refused',
      type: 'counter',
      help: 'Bodies that there was no room for, or that came too slowly.',
      value: () => intake.refused,
    },
    ...storeGauges(store),
    ...quotaGauges(access),
    ...invalidation.gauges(),
    ...sql.gauges(),
  ]
}
