/** Routes for admins who look at the server: the server itself, its log, refused commits, the change log, its caches. */
import { majorityOf } from '@freshet/core/agreement'
import type { ReadCount, Store, StoreNode } from '@freshet/core/store'
import { FreshetError, readPosition } from '@freshet/protocol'
import type { Access } from '../../access/access.js'
import { type Answer, jsonAnswer } from '../../http/answer.js'
import type { Cors } from '../../http/cors.js'
import type { Replies } from '../../http/replies.js'
import { parameterInvalid } from '../../http/request-target.js'
import type { CacheConfig } from '../../invalidation/cache-config.js'
import type { AllRecent, RecentItem, RecentKind } from '../../monitoring/recent.js'
import type { RecentConflicts } from '../../monitoring/recent-conflicts.js'
import type { RecentLines } from '../../monitoring/recent-lines.js'
import type { Call, Route } from '../../routing/call.js'
import type { Capability } from '../../routing/capability.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import { readChangePage } from './change-page.js'
import { type Doctor, DoctorRoute, throughOf } from './doctor.js'

export interface ConsoleRoutesOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly access: Access
  readonly caches: readonly CacheConfig[]
  readonly capabilities: readonly Capability[]
  readonly lines: RecentLines
  readonly conflicts: RecentConflicts
  readonly allRecent: AllRecent | undefined
  readonly doctor: Doctor | undefined
  readonly replies: Replies
  readonly cors: Cors
  readonly version: string
}

const CHANGES_DEFAULT = 100
const CHANGES_MAX = 1000

export class ConsoleRoutes {
  readonly #options: ConsoleRoutesOptions
  readonly #startedMs = Date.now()

  constructor(options: ConsoleRoutesOptions) {
    this.#options = options
  }

  routes(): readonly Route[] {
    const doctor = new DoctorRoute(this.#options)
    const admin = 'admin' as const
    return [
      { pattern: '/server', methods: { GET: { access: admin, handle: () => this.#server() } } },
      {
        pattern: '/logs',
        methods: { GET: { access: admin, handle: call => this.#recent(call, 'lines'), parameters: ['since'] } },
      },
      {
        pattern: '/conflicts',
        methods: {
          GET: { access: admin, handle: call => this.#recent(call, 'conflicts'), parameters: ['since'] },
        },
      },
      {
        pattern: '/changes',
        methods: {
          GET: { access: admin, handle: call => this.#changes(call), parameters: ['after', 'limit', 'of'] },
        },
      },
      { pattern: '/nodes', methods: { GET: { access: admin, handle: () => this.#nodes() } } },
      { pattern: '/caches', methods: { GET: { access: admin, handle: () => this.#caches() } } },
      {
        pattern: '/doctor',
        methods: { POST: { access: admin, handle: call => doctor.post(call), takesBody: true } },
      },
    ]
  }

  /** What this process remembers. */
  readRecent(kind: RecentKind): readonly RecentItem[] {
    const { lines, conflicts } = this.#options
    return kind === 'lines' ? lines.lines.list() : conflicts.conflicts.list()
  }

  async #recent({ parameters }: Call, kind: RecentKind): Promise<Answer> {
    const sinceMs = Number(parameters.get('since') ?? 0)
    if (!(sinceMs >= 0)) throw parameterInvalid('since must be a time of day, in milliseconds since 1970.')
    const own = this.readRecent(kind)
    const all = (await this.#options.allRecent?.(kind, own)) ?? own
    const items = all.filter(({ timeMs }) => timeMs >= sinceMs).sort((a, b) => a.timeMs - b.timeMs)
    return jsonAnswer(200, { items })
  }

  /** Answers also while the store is unavailable, since that is when operators look for the cause. */
  async #server(): Promise<Answer> {
    const { store, settings, access, caches, capabilities, doctor, version } = this.#options
    const has = {
      ...{ access: access.isOn, caches: caches.length > 0, doctor: doctor !== undefined },
      ...Object.assign({}, ...capabilities.map(capability => capability.has)),
    }
    const { nodes, replicas } = this.#storeParts()
    return jsonAnswer(200, {
      version,
      node: process.version,
      pid: process.pid,
      startedMs: this.#startedMs,
      log: store.log,
      ...(await positionsOf(store)),
      supports: store.supports,
      has: { ...has, ring: nodes.length > 0, replicas: replicas.length > 0 },
      settings,
    })
  }

  /** As this process knows them. */
  #nodes(): Answer {
    const { nodes, replicas } = this.#storeParts()
    return jsonAnswer(200, { nodes, ...(nodes.length > 0 && { needed: majorityOf(nodes.length) }), replicas })
  }

  /** The nodes that the store consists of, or the replicas that it reads from. */
  #storeParts(): { readonly nodes: readonly StoreNode[]; readonly replicas: readonly ReadCount[] } {
    const { store } = this.#options
    const counts = store.readCounts?.() ?? []
    return { nodes: store.nodes?.() ?? [], replicas: counts.some(({ isUsed }) => isUsed !== undefined) ? counts : [] }
  }

  async #changes({ parameters }: Call): Promise<Answer> {
    const limit = Number(parameters.get('limit') ?? CHANGES_DEFAULT)
    if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= CHANGES_MAX)) {
      throw parameterInvalid(`limit must be a whole number from 1 to ${CHANGES_MAX}.`)
    }
    const after = parameters.get('after')
    const asked = {
      after: after === undefined ? undefined : readPosition('after', after),
      of: parameters.get('of'),
      limit,
    }
    return jsonAnswer(200, await readChangePage(this.#options.store, asked))
  }

  /** Without secrets. The state of each cache is in the metrics. */
  #caches(): Answer {
    const caches = this.#options.caches.map(config => {
      const { name, kind, url, sites, bans, tags } = config
      return { name, kind, url, sites, bans, tags, through: throughOf(config) }
    })
    return jsonAnswer(200, { caches })
  }
}

async function positionsOf(store: Store): Promise<{ readonly position?: number; readonly trimmedTo?: number }> {
  try {
    return { position: await store.position(), trimmedTo: await store.trimmedTo() }
  } catch (error) {
    if (error instanceof FreshetError && error.code === 'STORE_UNAVAILABLE') return {}
    throw error
  }
}
