/**
 * Lets only objects pass that satisfy the schema of their bucket. Every client's write passes through here on the way to the
 * commit, whichever route it uses.
 *
 * A commit depends on the version of the bucket's record, which contains the schema. So an object that was checked against one
 * schema is never committed under the next. A commit also depends on the objects that checked references name, so these exist
 * at the commit, not only at the check.
 */
import type { MaybePromise, PutWrite, ReadVersion, Store, Write } from '@freshet/core/store'
import {
  bucketOfKey,
  checkId,
  FreshetError,
  type JsonSchema,
  type Key,
  pathOfKey,
  type SchemaViolation,
} from '@freshet/protocol'
import type { Caller } from '../access/caller.js'
import { type CompiledSchema, compileSchema, VIOLATIONS_MAX } from '../schemas/compile-schema.js'
import { type FoundReference, referencesIn } from '../schemas/references.js'
import type { Bucket } from './bucket-directory.js'

type Referenced = FoundReference & { readonly from: Key }

export class SchemaGuard {
  readonly #store: Store
  readonly #compiled = new WeakMap<JsonSchema, Promise<CompiledSchema>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Throws SCHEMA_INVALID. */
  compile(schema: JsonSchema): Promise<CompiledSchema> {
    let compiled = this.#compiled.get(schema)
    if (compiled === undefined) {
      compiled = compileSchema(schema)
      this.#compiled.set(schema, compiled)
    }
    return compiled
  }

  /** The schemas that apply to writes to a bucket. Throws SCHEMA_INVALID, naming the bucket. */
  async compileAll(bucket: Bucket): Promise<readonly CompiledSchema[]> {
    try {
      return await Promise.all(schemasOf(bucket).map(schema => this.compile(schema)))
    } catch (error) {
      if (!(error instanceof FreshetError) || error.code !== 'SCHEMA_INVALID') throw error
      throw new FreshetError(
        'SCHEMA_INVALID',
        `The schema of ${bucket.key} is stored, but this server cannot use it, so nothing can be written there. ` +
          `${error.message} Set another schema.`,
        { cause: error },
      )
    }
  }

  /**
   * Returns the further versions that the commit must depend on. Objects that the `caller` may not read count as absent, so
   * that a reference reveals nothing about them. Throws SCHEMA_VIOLATED, REFERENCE_MISSING.
   */
  check(
    writes: readonly Write[],
    reads: readonly ReadVersion[],
    buckets: ReadonlyMap<Key, Bucket | undefined>,
    caller?: Caller,
  ): MaybePromise<readonly ReadVersion[]> {
    for (const bucket of buckets.values()) {
      if (bucket !== undefined && schemasOf(bucket).length > 0) return this.#check(writes, reads, buckets, caller)
    }
    return []
  }

  /** The places where a stored object violates a schema. */
  async violations(key: Key, body: Uint8Array, schema: JsonSchema): Promise<readonly SchemaViolation[]> {
    const { check } = await this.compile(schema)
    return check(parse(body), body.length).map(found => ({ path: pathOfKey(key), ...found }))
  }

  async #check(
    writes: readonly Write[],
    reads: readonly ReadVersion[],
    buckets: ReadonlyMap<Key, Bucket | undefined>,
    caller: Caller | undefined,
  ): Promise<readonly ReadVersion[]> {
    const violations: SchemaViolation[] = []
    const references: Referenced[] = []
    let schemaVersion: number | undefined
    for (const write of writes) {
      const bucket = buckets.get(bucketOfKey(write.key))
      if (bucket === undefined || 'delete' in write) continue
      const found = await this.#checkOne(write, bucket, references)
      if (found.length > 0) schemaVersion ??= bucket.settings.schemaVersion
      violations.push(...found)
    }
    if (violations.length > 0) throw schemaViolated(violations, schemaVersion)
    return references.length === 0 ? [] : this.#readReferenced(references, writes, reads, caller)
  }

  async #checkOne(write: PutWrite, bucket: Bucket, references: Referenced[]): Promise<SchemaViolation[]> {
    if (schemasOf(bucket).length === 0) return []
    const value = parse(write.body)
    const violations: SchemaViolation[] = []
    for (const compiled of await this.compileAll(bucket)) {
      violations.push(
        ...compiled.check(value, write.body.length).map(found => ({ path: pathOfKey(write.key), ...found })),
      )
      references.push(...referencesIn(value, compiled.references).map(found => ({ ...found, from: write.key })))
    }
    return violations
  }

  async #readReferenced(
    references: readonly Referenced[],
    writes: readonly Write[],
    reads: readonly ReadVersion[],
    caller: Caller | undefined,
  ): Promise<readonly ReadVersion[]> {
    const written = new Map(writes.map(write => [write.key, !('delete' in write)]))
    const known = new Map(reads.map(({ key, version }) => [key, version]))
    const needed = new Map<Key, Referenced>()
    for (const reference of references) {
      if (!isId(reference.id)) throw referenceMissing(reference)
      const key = `${reference.bucket}/${reference.id}`
      const isThere = written.get(key) ?? (known.has(key) ? known.get(key) !== 0 : undefined)
      if (isThere === false) throw referenceMissing(reference)
      if (isThere === undefined) needed.set(key, reference)
    }
    if (needed.size === 0) return []
    const { value } = await this.#store.getMany([...needed.keys()])
    return [...needed].map(([key, reference], i) => {
      const found = value[i]
      const isSeen = caller === undefined || caller.may('read', key, found)
      if (found === undefined || !isSeen) throw referenceMissing(reference)
      return { key, version: found.version }
    })
  }
}

/** The schemas that writes must satisfy: while a new schema is being checked, both the old and the new one. */
function schemasOf({ record: { schema, pending } }: Bucket): readonly JsonSchema[] {
  return [schema, pending?.schema].filter(each => each !== undefined)
}

function parse(body: Uint8Array): unknown {
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString())
}

function isId(text: string): boolean {
  try {
    checkId(text)
    return true
  } catch {
    return false
  }
}

function schemaViolated(all: readonly SchemaViolation[], schemaVersion: number | undefined): FreshetError {
  const violations = all.slice(0, VIOLATIONS_MAX)
  const { path, at, expected } = violations[0]!
  const more = all.length > 1 ? ` More places are listed in violations.` : ''
  return new FreshetError(
    'SCHEMA_VIOLATED',
    `${path} does not satisfy the schema of its bucket: at ${at === '' ? 'its top' : at}, expected ${expected}.${more}`,
    { details: { violations, ...(schemaVersion === undefined ? {} : { schemaVersion }) } },
  )
}

function referenceMissing({ from, bucket, id, at }: Referenced): FreshetError {
  const path = pathOfKey(from)
  return new FreshetError(
    'REFERENCE_MISSING',
    `${path} refers at ${at} to ${JSON.stringify(id.slice(0, 80))} in ${bucket}, which does not exist. Write that first, or ` +
      'both in one commit.',
    { details: { path, at, bucket, id } },
  )
}
