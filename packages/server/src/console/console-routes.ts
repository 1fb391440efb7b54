/** What those who run the server look at: the server itself, its log, refused commits, the change log, its caches. For admins. */
import type { Store } from '@freshet/core/store'
import { readPosition } from '@freshet/protocol'
import type { Access } from '../access/access.js'
import { type Answer, jsonAnswer } from '../http/answer.js'
import type { Call, Route } from '../http/call.js'
import type { Cors } from '../http/cors.js'
import type { Replies } from '../http/replies.js'
import { parameterInvalid } from '../http/request-target.js'
import type { CacheConfig } from '../invalidation/cache-config.js'
import type { ServerSettings } from '../settings.js'
import { readChangePage } from './change-page.js'
import { type Doctor, DoctorRoute, throughOf } from './doctor.js'
import type { Recent } from './recent.js'
import type { RecentConflicts } from './recent-conflicts.js'
import type { RecentLines } from './recent-lines.js'

export interface ConsoleRoutesOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly access: Access
  readonly caches: readonly CacheConfig[]
  readonly hasShards: boolean
  readonly lines: RecentLines
  readonly conflicts: RecentConflicts
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
    const { lines, conflicts } = this.#options
    const doctor = new DoctorRoute(this.#options)
    const admin = 'admin' as const
    return [
      { pattern: '/server', operations: { GET: { access: admin, handle: () => this.#server() } } },
      {
        pattern: '/logs',
        operations: { GET: { access: admin, handle: call => recent(call, lines.lines), parameters: ['after'] } },
      },
      {
        pattern: '/conflicts',
        operations: {
          GET: { access: admin, handle: call => recent(call, conflicts.conflicts), parameters: ['after'] },
        },
      },
      {
        pattern: '/changes',
        operations: {
          GET: { access: admin, handle: call => this.#changes(call), parameters: ['after', 'limit', 'of'] },
        },
      },
      { pattern: '/caches', operations: { GET: { access: admin, handle: () => this.#caches() } } },
      {
        pattern: '/doctor',
        operations: { POST: { access: admin, handle: call => doctor.post(call), takesBody: true } },
      },
    ]
  }

  async #server(): Promise<Answer> {
    const { store, settings, access, caches, hasShards, doctor, version } = this.#options
    return jsonAnswer(200, {
      version,
      node: process.version,
      pid: process.pid,
      startedMs: this.#startedMs,
      log: store.log,
      position: await store.position(),
      trimmedTo: await store.trimmedTo(),
      supports: store.supports,
      has: { access: access.isOn, caches: caches.length > 0, doctor: doctor !== undefined, shards: hasShards },
      settings,
    })
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

  /** Without what is secret. How each is doing is among the metrics. */
  #caches(): Answer {
    const caches = this.#options.caches.map(config => {
      const { name, kind, url, sites, bans, tags } = config
      return { name, kind, url, sites, bans, tags, through: throughOf(config) }
    })
    return jsonAnswer(200, { caches })
  }
}

/** As `{pid}-{number}`: each process counts for itself. */
const ITEM_ID = /^([0-9]{1,10})-([0-9]{1,15})$/

/** What this process has, after the item named; all of it, if that is of another process. */
function recent({ parameters }: Call, items: Recent<object>): Answer {
  const after = parameters.get('after')
  const [, pid, number] = ITEM_ID.exec(after ?? '0-0') ?? []
  if (number === undefined) throw parameterInvalid('after must be the id of an item.')
  const from = Number(pid) === process.pid ? Number(number) : 0
  return jsonAnswer(200, {
    items: items.after(from).map(({ number, item }) => ({ id: `${process.pid}-${number}`, ...item })),
  })
}
