/**
 * Counts what is in namespaces that have a quota, in the background, once for each change of the rules: bucket by bucket, a page at a
 * time. What a page comes to and how far the count is are one commit, which relies on nothing in the page having changed. So it is exact
 * while clients write, and after a crash it goes on where it was. Of several servers the keeper does it. Each looks at what there is now
 * and then, for its metrics.
 */
import type { LogEntry, Store } from '@freshet/core/store'
import { idOfKey, type Key } from '@freshet/protocol'
import type { LogFollower } from '../../coherence/log-follower.js'
import type { BucketDirectory } from '../../data/bucket-directory.js'
import type { Keeper } from '../../fleet/keeper.js'
import { describeError, type Log } from '../../operations/log.js'
import type { Gauge } from '../../operations/metrics.js'
import type { Access } from '../access.js'
import { ACCESS_KEY } from '../access-record.js'
import { isStored, type KnownRecord, sizeOf } from './quotas.js'
import {
  type Counted,
  type CountRecord,
  END,
  isRecordKey,
  namespaceOf,
  recordKey,
  recordWrite,
  usageKey,
} from './usage-record.js'

export interface UsageCounterOptions {
  readonly store: Store
  readonly access: Access
  readonly buckets: BucketDirectory
  readonly follower: LogFollower
  readonly keeper: Keeper
  readonly log: Log
}

const PAGE_MAX = 500
const RETRY_MS = 1000
const LOOKED_EVERY_MS = 5000

export class UsageCounter {
  readonly #options: UsageCounterOptions
  #stopFollowing: () => void = () => undefined
  #running: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #looking: NodeJS.Timeout | undefined
  #looked: Promise<void> = Promise.resolve()
  #isAwake = false
  #isStopping = false
  /** Smaller where clients write in what is being counted. */
  #pageSize = PAGE_MAX

  constructor(options: UsageCounterOptions) {
    this.#options = options
  }

  start(): void {
    const { access, follower, keeper } = this.#options
    if (!access.isOn) return
    keeper.onChange(isKeeper => {
      if (isKeeper) this.#wake()
    })
    this.#stopFollowing = follower.onProgress(entries => {
      if (entries.some(tellsOfQuotas)) this.#wake()
    })
    this.#looking = setInterval(() => {
      this.#looked = this.#looked.then(() => this.#look())
    }, LOOKED_EVERY_MS).unref()
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#stopFollowing()
    clearTimeout(this.#retry)
    clearInterval(this.#looking)
    await this.#looked
    await this.#running
  }

  get #mayWork(): boolean {
    return this.#options.keeper.isKeeper && !this.#isStopping
  }

  #wake(): void {
    if (!this.#mayWork) return
    this.#isAwake = true
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    try {
      while (this.#isAwake && this.#mayWork) {
        this.#isAwake = false
        await turn()
        for (const namespace of this.#namespaces()) while (this.#mayWork && (await this.#step(namespace))) await turn()
      }
    } catch (error) {
      if (this.#isStopping) return
      this.#options.log.write('error', 'counting for a quota failed, and is tried again', describeError(error))
      this.#retry = setTimeout(() => this.#wake(), RETRY_MS).unref()
    } finally {
      this.#running = undefined
      if (this.#isAwake) this.#wake()
    }
  }

  async #look(): Promise<void> {
    const { access, log } = this.#options
    try {
      await access.quotas.look(access.rules, this.#namespaces())
    } catch (error) {
      if (!this.#isStopping) log.write('error', 'what namespaces have could not be read', describeError(error))
    }
  }

  #namespaces(): readonly string[] {
    const { access, buckets } = this.#options
    return [...new Set([...buckets.keys().map(namespaceOf), ...access.quotas.namespaces()])]
  }

  /** Whether there is more to do of it. */
  async #step(namespace: string): Promise<boolean> {
    const { access, follower } = this.#options
    await follower.catchUp()
    const known = access.quotas.recordOf(namespace)
    if (!isStored(access.rules.quotaOf(namespace))) return known === undefined ? false : this.#forget(namespace, known)
    // What is counted under other rules, or was when a bucket came in between, begins anew.
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
   * From the first commit on, every write is counted, in whichever bucket. If there is a bucket then that was not there before, it may have
   * something in it that was not.
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
    { name: 'freshet_quota_used', help: 'What namespaces with a quota have.', value: values('used') },
    { name: 'freshet_quota_max', help: 'What they may have.', value: values('max') },
    {
      ...{ name: 'freshet_quota_refused_total', type: 'counter', help: 'Requests refused for it.' },
      value: () => quotas.refused,
    },
  ]
}

/** Requests come first. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
