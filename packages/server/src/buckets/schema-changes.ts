/**
 * How a bucket gets another schema. The stored objects must satisfy it:
 *
 * | the bucket                        | what happens                                                                   |
 * | --------------------------------- | ------------------------------------------------------------------------------ |
 * | has few objects                   | they are checked, and the change is committed if none has changed in between   |
 * | has many, or changes all the time | the schema is pending while a task checks; until then, writes must satisfy both |
 * | is migrated                       | the schema applies to writes at once; a task, or a client, changes the objects |
 *
 * The version of an object shows whether it has yet to be migrated: it is older than the commit of the schema. So each object
 * is changed once, whichever process crashes at which moment, and objects that clients write in the meantime are left alone.
 */
import type { ReadList, Store, Write } from '@freshet/core/store'
import {
  type BucketChange,
  FreshetError,
  type JsonSchema,
  type Key,
  type Migration,
  type Position,
  pathOfKey,
  type SchemaViolation,
} from '@freshet/protocol'
import { VIOLATIONS_MAX } from '../schemas/compile-schema.js'
import type { Bucket } from './bucket-directory.js'
import { type BucketRecord, recordWrite } from './bucket-record.js'
import type { SchemaGuard } from './schema-guard.js'
import { historyWrite } from './schema-history.js'
import { type StoredTask, taskWrite } from './task-store.js'

/** A bucket with more objects is checked by a task. */
const CHECKED_AT_ONCE_MAX = 1000
/** After this many changes of the bucket during a check, a task checks it. */
const LOOKS_MAX = 5
const PAGE = 100

/** What the commit that changes the settings must also contain. */
export interface SchemaPlan {
  readonly fields: Pick<BucketRecord, 'schema' | 'schemaVersion' | 'pending' | 'migration'>
  readonly writes: readonly Write[]
  readonly lists: readonly ReadList[]
  readonly task?: string
}

export interface SchemaChangesOptions {
  readonly store: Store
  readonly guard: SchemaGuard
  readonly newId: () => string
}

export class SchemaChanges {
  readonly #options: SchemaChangesOptions

  constructor(options: SchemaChangesOptions) {
    this.#options = options
  }

  /** Throws SCHEMA_INVALID, SCHEMA_MISFIT, MIGRATION_UNFINISHED. */
  async plan(key: Key, before: Bucket | undefined, change: BucketChange, attempt: number): Promise<SchemaPlan> {
    const { schema, migration } = change
    if (migration === undefined && isSame(before?.record.schema, schema)) return unchanged(before)
    checkFree(key, before)
    const version = (before?.record.schemaVersion ?? 0) + 1
    if (schema === undefined) return effective(key, version, undefined)
    await this.#options.guard.compile(schema)
    if (migration !== undefined) return this.#migrate(key, version, schema, migration)
    if (attempt < LOOKS_MAX) {
      const list = await this.#checkNow(key, schema)
      if (list !== undefined) return { ...effective(key, version, schema), lists: [list] }
    }
    return this.#checkLater(key, before, version, schema)
  }

  /** Undefined if the bucket has too many objects, or changes during the check. */
  async #checkNow(bucket: Key, schema: JsonSchema): Promise<ReadList | undefined> {
    const { store, guard } = this.#options
    const violations: SchemaViolation[] = []
    let version: Position | undefined
    let count = 0
    for (let after: string | undefined; ; ) {
      const page = await store.scan(bucket, { limit: PAGE, ...(after === undefined ? {} : { after }) })
      version ??= page.version
      count += page.entries.length
      if (page.version !== version || count > CHECKED_AT_ONCE_MAX) return undefined
      for (const { id, body } of page.entries) {
        if (violations.length < VIOLATIONS_MAX)
          violations.push(...(await guard.violations(`${bucket}/${id}`, body, schema)))
      }
      if (violations.length >= VIOLATIONS_MAX || page.next === undefined) break
      after = page.next
    }
    if (violations.length > 0) throw misfit(bucket, violations.slice(0, VIOLATIONS_MAX))
    return { bucket, version }
  }

  #checkLater(key: Key, before: Bucket | undefined, schemaVersion: number, schema: JsonSchema): SchemaPlan {
    const task = this.#options.newId()
    const shared = { id: task, bucket: key, schemaVersion, done: 0, changed: 0 }
    const stored: StoredTask = { ...shared, kind: 'check', by: 'server', state: 'running', phase: 'checking' }
    return {
      fields: { ...fieldsOf(before), pending: { schema, task } },
      writes: [taskWrite(stored)],
      lists: [],
      task,
    }
  }

  #migrate(key: Key, schemaVersion: number, schema: JsonSchema, migration: Migration): SchemaPlan {
    const task = this.#options.newId()
    const { name } = migration
    const named = name === undefined ? {} : { name }
    const shared = { id: task, bucket: key, schemaVersion, done: 0, changed: 0, ...named }
    const by = 'steps' in migration ? 'server' : 'client'
    const stored: StoredTask = { ...shared, kind: 'migration', by, state: 'running', phase: 'changing' }
    const steps = 'steps' in migration ? { steps: migration.steps } : {}
    const origin = { task, ...(name === undefined ? {} : { migration: name }) }
    const plan = effective(key, schemaVersion, schema, origin)
    return {
      fields: { ...plan.fields, migration: { task, ...named, ...steps } },
      writes: [...plan.writes, taskWrite(stored)],
      lists: [],
      task,
    }
  }
}

/** Objects of the bucket that are older than this have yet to be migrated. */
export function migratesFrom({ version, record: { migration } }: Bucket): Position {
  return migration === undefined ? 0 : (migration.from ?? version)
}

/** The fields of the schema that the record keeps when other settings change. */
function fieldsOf(bucket: Bucket | undefined): SchemaPlan['fields'] {
  if (bucket === undefined) return {}
  const { schema, schemaVersion, pending, migration } = bucket.record
  return {
    ...(schema === undefined ? {} : { schema }),
    ...(schemaVersion === undefined ? {} : { schemaVersion }),
    ...(pending === undefined ? {} : { pending }),
    ...(migration === undefined ? {} : { migration: { ...migration, from: migratesFrom(bucket) } }),
  }
}

function unchanged(before: Bucket | undefined): SchemaPlan {
  return { fields: fieldsOf(before), writes: [], lists: [] }
}

/** The schema applies from this commit on. */
function effective(
  key: Key,
  schemaVersion: number,
  schema: JsonSchema | undefined,
  origin: { readonly migration?: string; readonly task?: string } = {},
): SchemaPlan {
  return {
    fields: { schemaVersion, ...(schema === undefined ? {} : { schema }) },
    writes: [historyWrite(key, { version: schemaVersion, schema, ...origin })],
    lists: [],
  }
}

/** Ignores the order of keywords. */
function isSame(one: JsonSchema | undefined, other: JsonSchema | undefined): boolean {
  return one === other || JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  )
}

function checkFree(key: Key, before: Bucket | undefined): void {
  const task = before?.record.migration?.task ?? before?.record.pending?.task
  if (task === undefined) return
  throw new FreshetError(
    'MIGRATION_UNFINISHED',
    `The schema of ${key} is being changed by task ${task}. Wait until it is done, or cancel it: POST /tasks/${task} ` +
      '{"do":"cancel"}.',
    { details: { task } },
  )
}

function misfit(bucket: Key, violations: readonly SchemaViolation[]): FreshetError {
  const ids = [...new Set(violations.map(({ path }) => path))]
  return new FreshetError(
    'SCHEMA_MISFIT',
    `The schema of ${bucket} was not changed: stored objects do not satisfy it, such as ${ids.slice(0, 3).join(', ')}. ` +
      `Correct them first, or send a migration. ${pathOfKey(bucket)}?schemas lists the schemas it has had.`,
    { details: { violations } },
  )
}

/** The changes of the bucket's record when its task ends. */
export function endOf({ state, schemaVersion }: StoredTask, { key, record }: Bucket): readonly Write[] {
  const { pending, migration: _, ...rest } = record
  if (pending === undefined || state !== 'done') return [recordWrite(key, rest)]
  const { fields, writes } = effective(key, schemaVersion, pending.schema)
  const promoted: BucketRecord = { ...rest, ...fields }
  return [recordWrite(key, promoted), ...writes]
}
