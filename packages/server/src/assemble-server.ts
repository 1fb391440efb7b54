/**
 * Assembles a server: its HTTP edge, the data it serves, the write path, background work and routes, in the order of their
 * dependencies.
 */
import type { Store } from '@freshet/core/store'
import type { Access, AccessConfig } from './access/access.js'
import { CursorSeals } from './access/cursor-seals.js'
import type { RulesMemory } from './access/known-rules.js'
import type { StoredRulesChoice } from './access/put-own-rules.js'
import type { RateLimitConfig } from './access/rate-limits.js'
import { AccessRoutes } from './api/access/access-routes.js'
import { BucketDeletion } from './api/buckets/bucket-deletion.js'
import { BucketRoutes } from './api/buckets/bucket-routes.js'
import { CoherenceRoutes } from './api/coherence/coherence-routes.js'
import { CommitRoute } from './api/commit/commit-route.js'
import { ClientModule } from './api/console/client-module.js'
import { ConsoleFiles } from './api/console/console-files.js'
import { ConsoleRoutes } from './api/console/console-routes.js'
import { DemoPage, type PageFile, type PageFiles } from './api/console/demo-page.js'
import type { Doctor } from './api/console/doctor.js'
import { CounterAdditions } from './api/counters/counter-additions.js'
import { CounterTotals } from './api/counters/counter-totals.js'
import { ListReader } from './api/lists/list-reader.js'
import { QueryReader } from './api/lists/query-reader.js'
import { VisibleRows } from './api/lists/visible-rows.js'
import { ObjectReader } from './api/objects/object-reader.js'
import { ObjectRoutes } from './api/objects/object-routes.js'
import { ObjectWrites } from './api/objects/object-writes.js'
import { idempotencyRoute } from './api/status/idempotency-route.js'
import { type AllMetrics, StatusRoutes } from './api/status/status-routes.js'
import { TaskRoutes } from './api/tasks/task-routes.js'
import { Background } from './background/background.js'
import { quotaGauges } from './background/usage-counter.js'
import { reportSchemas } from './buckets/report-schemas.js'
import { SchemaChanges } from './buckets/schema-changes.js'
import type { BodyIntake } from './http/body-intake.js'
import { LocalDoor } from './http/local-door.js'
import type { Replies } from './http/replies.js'
import { HttpEdge } from './http-edge.js'
import type { CacheConfig } from './invalidation/cache-config.js'
import type { Log } from './monitoring/log.js'
import type { Gauge, MetricFamily } from './monitoring/metrics.js'
import type { AllRecent, RecentItem, RecentKind } from './monitoring/recent.js'
import { RecentLines } from './monitoring/recent-lines.js'
import { storeGauges } from './monitoring/store-gauges.js'
import type { ServerRecordOptions } from './recording/server-recorder.js'
import type { Route } from './routing/call.js'
import type { Capability, JoinCapability } from './routing/capability.js'
import { Router } from './routing/router.js'
import { ServedData } from './served-data.js'
import { ownVersion } from './settings/own-version.js'
import type { ServerSettings } from './settings/server-settings.js'
import { WritePath } from './write-path.js'

export interface AssemblyOptions {
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
  readonly clientModule?: PageFile | undefined
  readonly doctor?: Doctor | undefined
  readonly allRecent?: AllRecent | undefined
  readonly caches?: readonly CacheConfig[]
  readonly record?: ServerRecordOptions | undefined
  readonly allMetrics?: AllMetrics | undefined
  readonly capabilities?: readonly JoinCapability[] | undefined
}

export interface ServerAssembly {
  readonly settings: ServerSettings
  readonly log: Log
  readonly routes: readonly Route[]
  readonly router: Router
  readonly replies: Replies
  readonly reader: ObjectReader
  readonly access: Access
  readonly intake: BodyIntake
  /** Undefined if requests may come from anywhere. */
  readonly door: LocalDoor | undefined
  readMetrics(): readonly MetricFamily[]
  readRecent(kind: RecentKind): readonly RecentItem[]
  start(): Promise<void>
  /** Ends streams and waits that would not end by themselves. */
  endStreams(): void
  stop(): Promise<void>
}

const VERSION = ownVersion()

export function assembleServer({
  page,
  console = {},
  clientModule,
  doctor,
  allMetrics,
  allRecent,
  ...rest
}: AssemblyOptions): ServerAssembly {
  const { store, settings, caches = [], record } = rest
  const lines = new RecentLines()
  const log = lines.listenTo(rest.log)
  const edge = new HttpEdge({ ...rest, log })
  const data = new ServedData({ ...rest, log, clients: edge.clients })
  const writePath = new WritePath({ data, metrics: edge.metrics, caches, record })
  const { replies, metrics } = edge
  const { trail } = writePath
  const background = new Background({ ...data, ...writePath, caches })
  const capabilities = (rest.capabilities ?? []).map(join => join({ settings, log, replies, trail }))
  const shared = { ...edge, ...data, ...writePath }
  const writes = new ObjectWrites(shared)
  const reader = new ObjectReader({ ...shared, logsRequests: log.level === 'request' })
  const additions = new CounterAdditions(shared)
  const objects = new ObjectRoutes({ ...shared, reader, writes, additions })
  const readers = { ...shared, rows: new VisibleRows(shared), seals: new CursorSeals(store) }
  const lists = new ListReader(readers)
  const totals = new CounterTotals(readers)
  const queries = new QueryReader(readers)
  const gauges = gaugesOf({ edge, data, background, capabilities })
  const consoleRoutes = new ConsoleRoutes({
    ...shared,
    capabilities,
    lines,
    caches,
    doctor,
    allRecent,
    version: VERSION,
  })
  const routes: readonly Route[] = [
    ...new DemoPage(store, page, VERSION).routes(),
    ...new BucketRoutes({
      ...shared,
      lists,
      totals,
      queries,
      objects,
      additions,
      schemas: new SchemaChanges(shared),
      deletion: new BucketDeletion(shared),
    }).routes(),
    objects.route(),
    new CommitRoute(shared).route(),
    ...new TaskRoutes(shared).routes(),
    idempotencyRoute(store, metrics),
    ...capabilities.flatMap(capability => capability.routes()),
    ...new CoherenceRoutes(shared).routes(),
    ...new AccessRoutes(shared).routes(),
    ...new ConsoleFiles(console).routes(),
    ...new ClientModule(clientModule).routes(),
    ...consoleRoutes.routes(),
    ...new StatusRoutes({
      ...shared,
      capabilities,
      gauges,
      allMetrics,
      isStopping: () => replies.isStopping,
      version: VERSION,
    }).routes(),
  ]
  return {
    settings,
    log,
    routes,
    reader,
    replies,
    access: data.access,
    intake: edge.intake,
    door: settings.corsOrigins === 'auto' && !data.access.isOn ? new LocalDoor() : undefined,
    readMetrics: () => metrics.read(gauges),
    readRecent: kind => consoleRoutes.readRecent(kind),
    router: new Router(routes, edge.cors, settings.urlBytesMax),
    ...lifecycleOf({ edge, data, writePath, background, capabilities }),
  }
}

function gaugesOf({ edge, data, background, capabilities }: Omit<Lifecycle, 'writePath'>): readonly Gauge[] {
  return [
    ...data.gauges(),
    ...edge.gauges(),
    ...storeGauges(data.store),
    ...quotaGauges(data.access),
    ...background.gauges(),
    ...capabilities.flatMap(capability => capability.gauges()),
  ]
}

/** What is started and stopped. */
interface Lifecycle {
  readonly edge: HttpEdge
  readonly data: ServedData
  readonly writePath: WritePath
  readonly background: Background
  readonly capabilities: readonly Capability[]
}

function lifecycleOf({ edge, data, writePath, background, capabilities }: Lifecycle) {
  const { log, access, buckets, follower } = data
  const { recorder, guard, idempotency, trail } = writePath
  let stopListening: () => void = () => undefined
  return {
    start: async () => {
      await access.start()
      await recorder?.start()
      await follower.start()
      await reportSchemas(buckets, guard, log)
      await idempotency.former.start()
      stopListening = follower.listen(log)
      for (const capability of capabilities) capability.start()
      await background.start()
    },
    endStreams: () => data.endStreams(),
    stop: async () => {
      stopListening()
      for (const capability of capabilities) await capability.stop()
      await trail.stop()
      await background.stop()
      await recorder?.stop()
      edge.close()
    },
  }
}
