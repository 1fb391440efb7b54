/**
 * Counts the contents of namespaces that have a quota, in the background, once for each change of the rules: bucket by bucket,
 * a page at a time. The sums of a page and the progress of the count are one commit, which depends on nothing in the page
 * having changed. So the count is exact while clients write, and resumes where it was after a crash. Of several servers, the
 * keeper counts. Every server reads the sums from time to time, for its metrics.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LogEntry, Store } from '@freshet/core/store'
import { idOfKey, type Key } from '@freshet/protocol'
import type { Access } from '../access/access.js'
import { ACCESS_KEY } from '../access/access-record.js'
import { isStored, type KnownRecord, sizeOf } from '../access/quotas/quotas.js'
import {
  type Counted,
  type CountRecord,
  END,
  isRecordKey,
  namespaceOf,
  recordKey,
  recordWrite,
  usageKey,
} from '../access/quotas/usage-record.js'
import type { BucketDirectory } from '../buckets/bucket-directory.js'
import type { LogFollower } from '../coherence/log-follower.js'
import { counter, type Gauge, gauge } from '../monitoring/metrics.js'
import type { BackgroundLoop } from './background-loop.js'
import type { KeeperJobs } from './keeper-jobs.js'

export interface UsageCounterOptions {
  readonly store: Store
  readonly access: Access
  readonly buckets: BucketDirectory
  readonly follower: LogFollower
  readonly loop: BackgroundLoop
  readonly jobs: KeeperJobs
}

const PAGE_MAX = 500
const LOOKED_EVERY_MS = 5000

export class UsageCounter {
  readonly #options: UsageCounterOptions
  /** Smaller while clients write to what is being counted. */
  #pageSize = PAGE_MAX

  constructor(options: UsageCounterOptions) {
    this.#options = options
  }

  start(): void {
    const { access, loop, jobs } = this.#options
    if (!access.isOn) return
    jobs.add({
      ...{ name: 'usage', failure: 'counting for a quota failed; it will be retried' },
      isWokenBy: tellsOfQuotas,
      run: () => this.#count(),
    })
    loop.add({
      ...{ name: 'usage-metrics', failure: 'the usage of namespaces could not be read', everyMs: LOOKED_EVERY_MS },
      run: () => access.quotas.look(access.rules, this.#namespaces()).then(() => undefined),
    })
  }

  async #count(): Promise<void> {
    await nextTurn()
    for (const namespace of this.#namespaces()) await this.#options.jobs.repeat(() => this.#step(namespace))
  }

  #namespaces(): readonly string[] {
    const { access, buckets } = this.#options
    return [...new Set([...buckets.keys().map(namespaceOf), ...access.quotas.namespaces()])]
  }

  /** Returns whether the namespace has more to count. */
  async #step(namespace: string): Promise<boolean> {
    const { access, follower } = this.#options
    await follower.catchUp()
    const known = access.quotas.recordOf(namespace)
    if (!isStored(access.rules.quotaOf(namespace))) return known === undefined ? false : this.#forget(namespace, known)
    // A count that began under other rules, or during which a bucket was created, starts over.
    const isOurs = known?.record.rules === access.rules.version && (known.record.bucket !== END || known.record.isDone)
    if (!isOurs) return this.#begin(namespace, known)
    return known.record.isDone ? false : this.#goOn(namespace, known)
  }

  async #begin(namespace: string, known: KnownRecord | undefined): Promise<boolean> {
    const { access, store } = this.#options
    const rules = access.rules.version
    await store.commit({
      reads: [
        { key: recordKey(namespace), version: known?.version ?? 0 },
        { key: ACCESS_KEY, version: rules },
      ],
      writes: [recordWrite(namespace, { rules }), ...forgotten(namespace)],
    })
    return true
  }

  async #forget(namespace: string, { version }: KnownRecord): Promise<boolean> {
    const key = recordKey(namespace)
    await this.#options.store.commit({
      reads: [{ key, version }],
      writes: [{ key, delete: true }, ...forgotten(namespace)],
    })
    return true
  }

  async #goOn(namespace: string, known: KnownRecord): Promise<boolean> {
    const { bucket, isThrough } = known.record
    const names = this.#bucketsOf(namespace)
    const current = isThrough ? names.find(name => name > bucket!) : (bucket ?? names[0])
    if (current === undefined) return this.#end(namespace, known, names)
    return this.#countPage(namespace, known, current, current === bucket ? known.record.after : undefined)
  }

  async #countPage(
    namespace: string,
    { version, record }: KnownRecord,
    bucket: Key,
    after: string | undefined,
  ): Promise<boolean> {
    const { store, buckets } = this.#options
    const from = after === undefined ? {} : { after }
    const page = await store.scan(bucket, { limit: this.#pageSize, ...from })
    const last = page.entries.at(-1)?.id
    const kind = buckets.get(bucket)?.settings.kind ?? 'object'
    const sums: Record<Counted, number> = { objects: page.entries.length, bytes: 0 }
    for (const { body } of page.entries) sums.bytes += sizeOf(kind, body)
    const isThrough = page.next === undefined
    const next: CountRecord = { rules: record.rules, bucket, ...(isThrough ? { isThrough } : { after: last! }) }
    const { committed } = await store.commit({
      reads: [{ key: recordKey(namespace), version }],
      lists: [{ bucket, version: page.version, ...from, ...(isThrough ? {} : { through: last! }) }],
      writes: [recordWrite(namespace, next)],
      adds: (['objects', 'bytes'] as const)
        .filter(what => sums[what] > 0)
        .map(what => ({ key: usageKey(namespace, what), by: sums[what], decimals: 0 })),
    })
    this.#pageSize = committed ? Math.min(PAGE_MAX, this.#pageSize * 2) : Math.max(1, this.#pageSize >> 1)
    return true
  }

  /**
   * From the first commit on, every write is counted, in any bucket. A bucket that did not exist before may hold objects that
   * were not counted.
   */
  async #end(namespace: string, { version, record }: KnownRecord, names: readonly Key[]): Promise<boolean> {
    const { store, follower } = this.#options
    const key = recordKey(namespace)
    const ended: CountRecord = { rules: record.rules, bucket: END, isThrough: true }
    const first = await store.commit({ reads: [{ key, version }], writes: [recordWrite(namespace, ended)] })
    if (!first.committed) return true
    await follower.catchUp()
    if (this.#bucketsOf(namespace).some(name => !names.includes(name))) return true
    await store.commit({
      reads: [{ key, version: first.position }],
      writes: [recordWrite(namespace, { rules: record.rules, isDone: true })],
    })
    return true
  }

  /** In order. */
  #bucketsOf(namespace: string): readonly Key[] {
    return this.#options.buckets.keys().filter(key => namespaceOf(key) === namespace)
  }
}

function forgotten(namespace: string): readonly { readonly key: Key; readonly delete: true }[] {
  return (['objects', 'bytes'] as const).map(what => ({ key: usageKey(namespace, what), delete: true }))
}

function tellsOfQuotas({ keys }: LogEntry): boolean {
  return keys.some(key => key === ACCESS_KEY || isRecordKey(key) || idOfKey(key) === undefined)
}

export function quotaGauges({ quotas }: Access): readonly Gauge[] {
  const values = (pick: 'used' | 'max') => () =>
    quotas.lately.flatMap(({ namespace, ...usage }) =>
      (['objects', 'bytes', 'requests'] as const).flatMap(what => {
        const value = usage[what]?.[pick]
        return value === undefined ? [] : [{ labels: `namespace="${namespace}",what="${what}"`, value }]
      }),
    )
  return [
    gauge('freshet_quota_used', 'How much namespaces with a quota use.', values('used')),
    gauge('freshet_quota_max', 'The limits of their quotas.', values('max')),
    counter('freshet_quota_refused_total', 'Commits and requests refused because of a quota.', () => quotas.refused),
  ]
}
