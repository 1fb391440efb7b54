/**
 * How much a namespace may have, as its rules say (`quota acme objects 10000`), and how much it has.
 *
 * Each commit adds what it changes to counters, and the store refuses the commit if a counter would pass its bound. So the
 * count is exact, however many servers commit at once, and after a crash. A change is counted relative to the version that it
 * replaces, so the commit depends on that version. There is one exception: an addition to a counter while that counter is
 * deleted may not be counted, since additions depend on no version.
 *
 * What was stored before the quota existed is counted in the background (`usage-counter.ts`), in order of keys. A write to a
 * key that this count has passed is counted by the write itself, and the commit depends on how far the count has come. Every
 * commit also depends on the rules, so no commit is made under rules that do not know the quota.
 */
import type { Addition, CounterRefusal, LogEntry, ReadVersion, Store, StoredValue, Write } from '@freshet/core/store'
import { type BucketSettings, bucketOfKey, FreshetError, type Key, type Version } from '@freshet/protocol'
import type { AccessRules } from '../rules/access-rules.js'
import type { Quota } from '../rules/parse-quota.js'
import { raisingQuota } from './raising-quota.js'
import { RequestAllowance } from './request-allowance.js'
import { type StoredUsage, UsageReader } from './usage-reader.js'
import {
  type Counted,
  type CountRecord,
  decodeRecord,
  isCounted,
  isRecordKey,
  namespaceOf,
  QUOTAS,
  recordKey,
  recordWrite,
  usageKey,
  usageOf,
} from './usage-record.js'

export interface KnownRecord {
  readonly version: Version
  readonly record: CountRecord
}

export interface ChargedChanges {
  readonly writes: readonly Write[]
  readonly adds: readonly Addition[]
  /** The versions that the commit depends on already. */
  readonly reads: readonly ReadVersion[]
  kindOf(bucket: Key): BucketSettings['kind']
  /** Whether the namespace has any bucket. */
  hasBuckets(namespace: string): boolean
  /** False for the server's own writes, such as a migration: they are counted but never refused. */
  readonly isLimited: boolean
}

/** What the commit must contain to be counted. */
export interface Charge {
  readonly reads: readonly ReadVersion[]
  readonly writes: readonly Write[]
  readonly adds: readonly Addition[]
  /** Versions that the commit depends on and that have changed already: it cannot be committed. */
  readonly conflicts: readonly ReadVersion[]
}

export interface NamespaceUsage {
  readonly namespace: string
  readonly isCounted: boolean
  readonly objects?: { readonly used: number; readonly max: number }
  readonly bytes?: { readonly used: number; readonly max: number }
  readonly requests?: { readonly used: number; readonly max: number; readonly per: string }
}

const COUNTED: readonly Counted[] = ['objects', 'bytes']
/** A counter's stored value has as many bytes as it has digits. Tracking that would cost too much. */
const COUNTER_BYTES = 8
const PAGE = 1000

export class Quotas {
  readonly #store: Store
  readonly #records = new Map<string, KnownRecord>()
  readonly requests: RequestAllowance
  readonly #reader: UsageReader
  /** How many commits and requests were refused. */
  refused = 0
  /** Recent usage, for metrics. */
  lately: readonly NamespaceUsage[] = []

  constructor(store: Store) {
    this.#store = store
    this.requests = new RequestAllowance(store)
    this.#reader = new UsageReader(store)
  }

  recordOf(namespace: string): KnownRecord | undefined {
    return this.#records.get(namespace)
  }

  /** All namespaces that are or were counted. */
  namespaces(): readonly string[] {
    return [...this.#records.keys()]
  }

  async load(): Promise<void> {
    this.#records.clear()
    this.#reader.distrust()
    for (let after: string | undefined; ; ) {
      const { entries, next } = await this.#store.scan(QUOTAS, {
        limit: PAGE,
        ...(after === undefined ? {} : { after }),
      })
      for (const { id, version, body } of entries) this.#records.set(id, { version, record: decodeRecord(body) })
      if (next === undefined) return
      after = next
    }
  }

  /** Applies what these commits changed in how far namespaces are counted. */
  follow(entries: readonly LogEntry[]): Promise<void> | undefined {
    this.#reader.follow(entries)
    const changed = new Set<Key>()
    for (const { keys } of entries) for (const key of keys) if (isRecordKey(key)) changed.add(key)
    return changed.size === 0 ? undefined : this.#take([...changed])
  }

  /** Undefined if no change is in a namespace with such a quota. */
  charge(rules: AccessRules, changes: ChargedChanges): Promise<Charge> | undefined {
    if (!rules.hasQuotas) return undefined
    const namespaces = new Set([...changes.writes, ...changes.adds].map(({ key }) => namespaceOf(key)))
    const limited = [...namespaces].filter(name => isStored(rules.quotaOf(name)))
    return limited.length === 0 ? undefined : this.#charge(rules, changes, limited)
  }

  /** Undefined if the counter that refused is not a quota's. */
  refusalOf({ key, units }: CounterRefusal, by: readonly Addition[]): FreshetError | undefined {
    const usage = usageOf(key)
    if (usage === undefined) return undefined
    this.refused++
    const { namespace, what } = usage
    const max = by.find(addition => addition.key === key)?.max
    return new FreshetError(
      'QUOTA_EXCEEDED',
      `The namespace ${namespace} has ${units} ${what} of ${max}, so nothing was done. Delete what is not needed, or ` +
        `${raisingQuota(namespace)}.`,
      { details: { namespace, what, used: units, max, outcome: 'not-done' } },
    )
  }

  /** Throws QUOTA_EXCEEDED. */
  async takeRequest(rules: AccessRules, namespace: string): Promise<void> {
    const quota = rules.quotaOf(namespace)?.requests
    if (quota === undefined) return
    try {
      await this.requests.take(namespace, quota)
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'QUOTA_EXCEEDED') this.refused++
      throw error
    }
  }

  /** The usage of those of these namespaces that have a quota. */
  async usage(rules: AccessRules, namespaces: Iterable<string>): Promise<readonly NamespaceUsage[]> {
    const names = withQuota(rules, namespaces)
    const stored = await this.#reader.read(names)
    return names.map(name => this.#usageOf(rules, name, stored.get(name)))
  }

  /** Refreshes `lately`, for these namespaces. */
  async look(rules: AccessRules, namespaces: Iterable<string>): Promise<void> {
    const names = withQuota(rules, namespaces)
    const stored = await this.#reader.readChanged(names)
    this.lately = names.map(name => this.#usageOf(rules, name, stored.get(name)))
  }

  #usageOf(rules: AccessRules, namespace: string, stored: StoredUsage | undefined): NamespaceUsage {
    const { objects, bytes, requests } = rules.quotaOf(namespace)!
    const { record } = this.#records.get(namespace) ?? {}
    return {
      namespace,
      isCounted: record?.isDone === true && record.rules === rules.version,
      ...(objects === undefined ? {} : { objects: { used: stored?.objects ?? 0, max: objects } }),
      ...(bytes === undefined ? {} : { bytes: { used: stored?.bytes ?? 0, max: bytes } }),
      ...(requests && { requests: { used: this.requests.taken(stored?.requests, requests), ...requests } }),
    }
  }

  async #take(keys: readonly Key[]): Promise<void> {
    const { value } = await this.#store.getMany(keys)
    keys.forEach((key, i) => {
      const namespace = key.slice(QUOTAS.length + 1)
      const found = value[i]
      if (found === undefined) this.#records.delete(namespace)
      else this.#records.set(namespace, { version: found.version, record: decodeRecord(found.body) })
    })
  }

  async #charge(rules: AccessRules, changes: ChargedChanges, namespaces: readonly string[]): Promise<Charge> {
    const reads: ReadVersion[] = []
    const records: Write[] = []
    const counting = new Map<string, CountRecord>()
    for (const namespace of namespaces) {
      const known = this.#records.get(namespace)
      reads.push({ key: recordKey(namespace), version: known?.version ?? 0 })
      if (known?.record.rules === rules.version) counting.set(namespace, known.record)
      else if (known === undefined && !changes.hasBuckets(namespace)) {
        // The namespace is empty, so there is nothing older to count.
        const record: CountRecord = { rules: rules.version, isDone: true }
        counting.set(namespace, record)
        records.push(recordWrite(namespace, record))
      }
    }
    const isOurs = ({ key }: { readonly key: Key }) => {
      const record = counting.get(namespaceOf(key))
      return record !== undefined && key !== bucketOfKey(key) && isCounted(record, key)
    }
    const writes = changes.writes.filter(isOurs)
    const added = changes.adds.filter(isOurs)
    const keys = [...writes, ...added].map(({ key }) => key)
    const { value } = keys.length === 0 ? { value: [] } : await this.#store.getMany(keys)
    const found = new Map(keys.map((key, i) => [key, value[i]]))
    const relied = reliedOn(changes, writes, added, found)
    const adds = additions(rules, tally(changes, writes, added, found), changes.isLimited)
    return { reads: [...reads, ...relied.reads], writes: records, adds, conflicts: relied.conflicts }
  }
}

type Found = ReadonlyMap<Key, StoredValue | undefined>

function reliedOn(
  { reads: known }: ChargedChanges,
  writes: readonly Write[],
  added: readonly Addition[],
  found: Found,
): Pick<Charge, 'reads' | 'conflicts'> {
  const versions = new Map(known.map(({ key, version }) => [key, version]))
  const reads: ReadVersion[] = []
  const conflicts: ReadVersion[] = []
  // Several commits may add to an existing counter at once: it still counts as one object.
  for (const { key } of [...writes, ...added.filter(({ key }) => found.get(key) === undefined)]) {
    const version = found.get(key)?.version ?? 0
    if (!versions.has(key)) reads.push({ key, version })
    else if (versions.get(key) !== version) conflicts.push({ key, version })
  }
  return { reads, conflicts }
}

function tally(
  { kindOf }: ChargedChanges,
  writes: readonly Write[],
  added: readonly Addition[],
  found: Found,
): ReadonlyMap<string, Readonly<Record<Counted, number>>> {
  const sums = new Map<string, Record<Counted, number>>()
  const add = (key: Key, objects: number, bytes: number) => {
    const sum = sums.get(namespaceOf(key)) ?? { objects: 0, bytes: 0 }
    sums.set(namespaceOf(key), { objects: sum.objects + objects, bytes: sum.bytes + bytes })
  }
  for (const write of writes) {
    const kind = kindOf(bucketOfKey(write.key))
    const before = found.get(write.key)
    const after = 'delete' in write ? undefined : write
    add(write.key, Number(after !== undefined) - Number(before !== undefined), 0)
    add(write.key, 0, (after ? sizeOf(kind, after.body) : 0) - (before ? sizeOf(kind, before.body) : 0))
  }
  for (const { key } of added) if (found.get(key) === undefined) add(key, 1, COUNTER_BYTES)
  return sums
}

function additions(
  rules: AccessRules,
  sums: ReadonlyMap<string, Readonly<Record<Counted, number>>>,
  isLimited: boolean,
): readonly Addition[] {
  return [...sums].flatMap(([namespace, sum]) => {
    const quota = rules.quotaOf(namespace)!
    return COUNTED.filter(what => sum[what] !== 0).map((what): Addition => {
      const max = isLimited ? quota[what] : undefined
      return { key: usageKey(namespace, what), by: sum[what], decimals: 0, ...(max === undefined ? {} : { max }) }
    })
  })
}

/** The size of an object as quotas count it. */
export function sizeOf(kind: BucketSettings['kind'], body: Uint8Array): number {
  return kind === 'counter' ? COUNTER_BYTES : body.length
}

function withQuota(rules: AccessRules, namespaces: Iterable<string>): readonly string[] {
  return [...new Set(namespaces)].filter(name => rules.quotaOf(name) !== undefined).sort()
}

/** Whether the quota limits what is stored. */
export function isStored(quota: Quota | undefined): boolean {
  return quota !== undefined && (quota.objects !== undefined || quota.bytes !== undefined)
}
