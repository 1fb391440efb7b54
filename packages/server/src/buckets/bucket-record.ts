/**
 * The stored record of a bucket, under the bucket's own key: its settings, and its earlier, longer lifetimes, which copies in
 * caches may still have. Both change in one commit, so every server over the same data knows how long copies may live as soon
 * as it has read that far in the log, and a restarted server knows it again.
 */
import type { LifetimeBounds } from '@freshet/core/coherence'
import { parseUnits } from '@freshet/core/counters'
import { DECIMALS_MAX, type Write } from '@freshet/core/store'
import {
  type BucketChange,
  type BucketSettings,
  FreshetError,
  type IndexDeclaration,
  type JsonSchema,
  type Key,
  type MigrationStep,
  objectionToIndexes,
  type Position,
} from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'
import { readMigration } from '../schemas/migration-steps.js'
import { isObject } from '../schemas/subschemas.js'
import { overLimit } from '../settings/limits.js'
import type { ServerSettings } from '../settings/server-settings.js'

export interface BucketRecord extends BucketSettings {
  readonly past?: readonly PastLifetime[]
  /** A schema that objects are being checked against. Until that is done, writes must satisfy both schemas. */
  readonly pending?: { readonly schema: JsonSchema; readonly task: string }
  readonly migration?: RunningMigration
  /** The task that deletes the bucket: no more writes to it are committed. */
  readonly deletion?: string
}

export interface RunningMigration {
  readonly task: string
  readonly name?: string
  /** Absent if a client changes the objects. */
  readonly steps?: readonly MigrationStep[]
  /** The version that started the migration, if the record has been written again since. */
  readonly from?: Position
}

export interface PastLifetime {
  readonly lifetimeMs: number
  /** When the lifetime was lowered, by the store's clock. */
  readonly loweredMs: number
  /** The clock was read before the commit, which may have taken long: `stampPast` corrects it. */
  readonly isAsked?: true
}

const FIELDS = [
  ...['kind', 'lifetimeMs', 'learn', 'requireMatch', 'requireIdempotencyKey', 'decimals', 'min', 'max'],
  ...['indexes', 'schema', 'schemaVersion', 'migration'],
]
const BOUNDS = ['minMs', 'maxMs']

/** Parses settings as a client sends them. Throws BODY_INVALID. */
export function readBucketSettings(text: string, lifetimeMsMax: number): BucketChange {
  const value = JSON.parse(text) as Record<string, unknown>
  const unknown = Object.keys(value).find(name => !FIELDS.includes(name))
  if (unknown !== undefined) throw invalid(`there is no setting ${JSON.stringify(unknown)}, only ${FIELDS.join(', ')}`)
  const { kind, lifetimeMs, learn, requireMatch, requireIdempotencyKey } = value
  const indexes = value.indexes === undefined ? undefined : readIndexes(value.indexes)
  if (kind !== 'object' && kind !== 'kv' && kind !== 'counter') {
    throw invalid('kind must be "object", "kv" or "counter"')
  }
  if (lifetimeMs !== undefined && !isWithin(lifetimeMs, Number.MAX_SAFE_INTEGER)) {
    throw invalid(`lifetimeMs must be a whole number of milliseconds, at most ${lifetimeMsMax}`)
  }
  if (learn !== undefined && lifetimeMs !== undefined) throw invalid('lifetimeMs and learn cannot be combined')
  if (learn !== undefined && !areBounds(learn)) {
    throw invalid(
      'learn must be { "minMs", "maxMs" }, whole numbers of milliseconds, ' +
        `minMs at most maxMs, and maxMs at most ${lifetimeMsMax}`,
    )
  }
  checkLifetime('lifetimeMs', lifetimeMs, lifetimeMsMax)
  checkLifetime('learn.maxMs', learn?.maxMs, lifetimeMsMax)
  if (requireMatch !== undefined && typeof requireMatch !== 'boolean')
    throw invalid('requireMatch must be true or false')
  if (requireIdempotencyKey !== undefined && typeof requireIdempotencyKey !== 'boolean')
    throw invalid('requireIdempotencyKey must be true or false')
  if (indexes !== undefined && kind !== 'object') throw invalid('only buckets of kind "object" can have indexes')
  return {
    kind,
    ...(lifetimeMs === undefined ? {} : { lifetimeMs }),
    ...(learn === undefined ? {} : { learn }),
    ...(requireMatch === undefined ? {} : { requireMatch }),
    ...(requireIdempotencyKey === undefined ? {} : { requireIdempotencyKey }),
    ...readCounters(value, kind),
    ...(indexes === undefined || indexes.length === 0 ? {} : { indexes }),
    ...readSchema(value, kind),
  }
}

/**
 * Settings as a PUT would have them: the existing ones, with those that the client sends, and without those it sends as null. A
 * fixed lifetime replaces bounds for a learnt one, and the other way round. If the kind changes, no existing setting is kept.
 */
export function mergeSettings(text: string, before: BucketSettings | undefined): string {
  const change = JSON.parse(text) as Record<string, unknown>
  const { schemaVersion: _, ...known } = before ?? { kind: undefined }
  const kept = change.kind === undefined || change.kind === known.kind ? known : {}
  const merged: Record<string, unknown> = { ...kept, ...change }
  if (isSet(change.learn) && !isSet(change.lifetimeMs)) delete merged.lifetimeMs
  if (isSet(change.lifetimeMs) && !isSet(change.learn)) delete merged.learn
  return JSON.stringify(Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)))
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

function readCounters(
  { decimals, min, max }: Record<string, unknown>,
  kind: BucketSettings['kind'],
): Pick<BucketChange, 'decimals' | 'min' | 'max'> {
  const isSet = decimals !== undefined || min !== undefined || max !== undefined
  if (isSet && kind !== 'counter') throw invalid('only buckets of kind "counter" have decimals, min and max')
  if (decimals !== undefined && !isWithin(decimals, DECIMALS_MAX)) {
    throw invalid(`decimals must be a whole number up to ${DECIMALS_MAX}`)
  }
  for (const bound of [min, max]) {
    const isBound = typeof bound === 'number' && parseUnits(`${bound}`, decimals ?? 0) !== undefined
    if (bound !== undefined && !isBound)
      throw invalid(`min and max must be numbers with ${decimals ?? 0} decimals at most`)
  }
  if (min !== undefined && max !== undefined && (min as number) > (max as number)) throw invalid('min is above max')
  return {
    ...(decimals === undefined ? {} : { decimals }),
    ...(min === undefined ? {} : { min: min as number }),
    ...(max === undefined ? {} : { max: max as number }),
  }
}

function readSchema(
  { schema, schemaVersion, migration }: Record<string, unknown>,
  kind: BucketSettings['kind'],
): Pick<BucketChange, 'schema' | 'schemaVersion' | 'migration'> {
  if (schema !== undefined && !isObject(schema)) throw invalid('schema must be a JSON schema, {...}')
  if (schema !== undefined && kind !== 'object') throw invalid('only buckets of kind "object" have a schema')
  if (migration !== undefined && schema === undefined) throw invalid('a migration needs the new schema')
  if (schemaVersion !== undefined && !isWithin(schemaVersion, Number.MAX_SAFE_INTEGER)) {
    throw invalid('schemaVersion must be the version of the schema that is being replaced')
  }
  return {
    ...(schema === undefined ? {} : { schema }),
    ...(schemaVersion === undefined ? {} : { schemaVersion }),
    ...(migration === undefined ? {} : { migration: readMigration(migration) }),
  }
}

/** Ignores the progress of indexes, so that the answer of `?settings` can be sent back. */
function readIndexes(value: unknown): readonly IndexDeclaration[] {
  const declared = Array.isArray(value) ? value.map(withoutState) : value
  const objection = objectionToIndexes(declared)
  if (objection !== undefined) throw invalid(objection)
  return declared as readonly IndexDeclaration[]
}

function withoutState(index: unknown): unknown {
  if (typeof index !== 'object' || index === null || Array.isArray(index)) return index
  const { isReady: _isReady, done: _done, total: _total, ...declared } = index as Record<string, unknown>
  return declared
}

function areBounds(value: unknown): value is LifetimeBounds {
  if (typeof value !== 'object' || value === null || !Object.keys(value).every(name => BOUNDS.includes(name)))
    return false
  const { minMs, maxMs } = value as Record<string, unknown>
  return isWithin(maxMs, Number.MAX_SAFE_INTEGER) && isWithin(minMs, maxMs)
}

function checkLifetime(name: string, ms: number | undefined, lifetimeMsMax: number): void {
  if (ms === undefined || ms <= lifetimeMsMax) return
  throw overLimit({
    code: 'BODY_INVALID',
    limit: 'lifetimeMsMax',
    what: `These are not valid settings of a bucket: ${name} is ${ms}, and may be at most ${lifetimeMsMax} on this server.`,
    instead: 'Choose a shorter lifetime',
    details: { lifetimeMsMax },
  })
}

function isWithin(value: unknown, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max
}

function invalid(reason: string): FreshetError {
  return new FreshetError('BODY_INVALID', `These are not valid settings of a bucket: ${reason}.`)
}

export function encodeRecord(record: BucketRecord): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(record))
}

export function recordWrite(key: Key, record: BucketRecord): Write {
  return { key, contentType: JSON_TYPE, body: encodeRecord(record) }
}

/** The part of a record that clients see. */
export function settingsOf(record: BucketRecord): BucketSettings {
  const { past: _, pending: __, migration: ___, deletion: ____, ...settings } = record
  return settings
}

export function decodeRecord(body: Uint8Array): BucketRecord {
  return JSON.parse(new TextDecoder().decode(body)) as BucketRecord
}

/** The record to store when the settings of a bucket change at `nowMs` of the store's clock. */
export function changeRecord(
  before: BucketRecord | undefined,
  settings: Omit<BucketRecord, 'past'>,
  nowMs: number,
  server: ServerSettings,
): BucketRecord {
  const lifetimeMs = longestOf(settings, server)
  const lowered: PastLifetime[] = before
    ? [{ lifetimeMs: longestOf(before, server), loweredMs: nowMs, isAsked: true }]
    : []
  const promised = [...(before?.past ?? []), ...lowered]
  const past = promised.filter(old => old.lifetimeMs > lifetimeMs && isAlive(old, nowMs, server))
  return past.length === 0 ? settings : { ...settings, past }
}

/** For a record that was read from the store: what its commit lowered was lowered at `committedMs` or earlier. */
export function stampPast(record: BucketRecord, committedMs: number): BucketRecord {
  if (!isUnstamped(record)) return record
  const past = record.past!.map(({ isAsked, loweredMs, ...old }) => ({
    ...old,
    loweredMs: isAsked ? Math.max(loweredMs, committedMs) : loweredMs,
  }))
  return { ...record, past }
}

export function isUnstamped({ past = [] }: BucketRecord): boolean {
  return past.some(({ isAsked }) => isAsked)
}

/**
 * What to remember of deleted buckets when one more is deleted at `nowMs`: the lifetimes that copies in caches may still have,
 * as the past of a bucket that does not exist. A lifetime that ended before a longer one adds nothing.
 */
export function afterDeletion(
  deleted: BucketRecord,
  before: BucketRecord | undefined,
  nowMs: number,
  server: ServerSettings,
): BucketRecord {
  const past = [...(before?.past ?? []), ...(deleted.past ?? [])]
  const { past: alive = [] } = changeRecord({ ...deleted, past }, { kind: 'object' }, nowMs, server)
  let longestMs = 0
  const kept = alive
    .toSorted((one, other) => other.loweredMs - one.loweredMs || other.lifetimeMs - one.lifetimeMs)
    .filter(({ lifetimeMs }) => {
      const isLonger = lifetimeMs > longestMs
      longestMs = Math.max(longestMs, lifetimeMs)
      return isLonger
    })
  return { kind: 'object', ...(kept.length === 0 ? {} : { past: kept }) }
}

/** The longest lifetime that a live copy of something in the bucket may have. */
export function longestLifetimeMs(record: BucketRecord, nowMs: number, server: ServerSettings): number {
  const past = (record.past ?? []).filter(old => isAlive(old, nowMs, server)).map(old => old.lifetimeMs)
  return Math.max(longestOf(record, server), ...past)
}

/** The longest lifetime that copies get under these settings, whatever is learnt about single keys. */
function longestOf({ learn, lifetimeMs }: BucketSettings, server: ServerSettings): number {
  return learn?.maxMs ?? lifetimeMs ?? server.lifetimeMs
}

function isAlive(
  { lifetimeMs, loweredMs, isAsked }: PastLifetime,
  nowMs: number,
  { responseMsMax, slackMs }: ServerSettings,
): boolean {
  // Twice the longest response: once until all servers know the commit that lowered it, once for the last copy with it.
  return isAsked === true || nowMs <= loweredMs + lifetimeMs + 2 * responseMsMax + slackMs
}
