/**
 * Reads a bucket for a caller who may see only some of its rows, such that hidden rows change nothing: neither the answer, nor
 * its version, nor the work. Each branch of what the caller may see (`access/rules/demands.ts`) is read through an index that
 * finds only its rows, or as a range of ids, and the branches are merged.
 *
 * Rows that no index covers are found by reading every row, up to a bound on the size of the whole bucket. Beyond the bound,
 * the read is refused: a page that ends early would reveal hidden rows. So all that a caller can learn is whether the bucket is
 * larger than the bound.
 */
import { setImmediate } from 'node:timers/promises'
import { answerQuery, candidateOf, compareBy, cursorAt, orderOf } from '@freshet/core/queries'
import type { IndexState, Store, StoredEntry } from '@freshet/core/store'
import {
  type Filter,
  FreshetError,
  ID_FIELD,
  type IdRange,
  isWithin,
  type Key,
  type Position,
  type Query,
  type Tag,
  type Version,
  type Condition as Wanted,
} from '@freshet/protocol'
import type { Caller } from '../../access/caller.js'
import { type Branch, covers, type Demands, fieldsFor, indexFor, isExact, isOfIds } from '../../access/rules/demands.js'
import { tooMuchContention } from '../../buckets/refusals.js'
import type { Metrics } from '../../monitoring/metrics.js'

export interface VisibleRowsOptions {
  readonly store: Store
  readonly metrics: Metrics
}

export interface VisiblePage {
  readonly entries: readonly StoredEntry[]
  /** Whether visible rows follow. */
  readonly hasMore: boolean
  readonly position: Position
  /** When any of it may last have changed. It may reveal hidden rows, so the caller must not see it. */
  readonly changedAt: Version
  /** Present only if nothing but visible rows can change it. */
  readonly version?: Version
  readonly dependsOn?: readonly Tag[]
}

/** A list is a query for all rows, by id. */
interface Asked {
  readonly query: Query & { readonly limit: number }
  readonly range?: IdRange
}

/** How one branch is read. */
interface Way {
  readonly branch: Branch
  /** The indexes that cover the branch; empty if it is a range of ids. */
  readonly through: readonly string[]
}

interface Part extends Omit<VisiblePage, 'version' | 'dependsOn'> {
  /** Undefined if hidden rows have these tags as well. */
  readonly tags?: readonly Tag[] | undefined
}

/** A bucket with more rows than this is not searched row by row. */
export const UNINDEXED_ROWS_MAX = 1000
/** Values are read in steps, so that large ones do not fill the memory, and other requests get their turn. */
const STEP = 100
/** A commit can depend on no more. */
const TAGS_MAX = 100
const ATTEMPTS_MAX = 20

export class VisibleRows {
  readonly #options: VisibleRowsOptions

  constructor(options: VisibleRowsOptions) {
    this.#options = options
  }

  /** Rows by ascending id. At most `limit`, and at most `step` if an index finds them. */
  list(bucket: Key, caller: Caller, range: IdRange, limit: number, step: number = STEP): Promise<VisiblePage> {
    const { after, ...bounds } = range
    const wanted = wantedOf(bounds)
    const query = {
      ...(wanted === undefined ? {} : { where: { [ID_FIELD]: wanted } }),
      ...(after === undefined ? {} : { after: cursorAt(orderOf({}), { id: after, value: undefined }) }),
    }
    return this.#page(bucket, caller, { query: { ...query, limit }, range }, step)
  }

  query(bucket: Key, caller: Caller, query: Asked['query']): Promise<VisiblePage> {
    return this.#page(bucket, caller, { query }, query.limit)
  }

  async #page(bucket: Key, caller: Caller, asked: Asked, step: number): Promise<VisiblePage> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const branches = caller.visibleIn(bucket)
      const ways = branches && (await this.#waysOf(bucket, branches))
      const page =
        ways === undefined
          ? await this.#among(bucket, caller, asked, branches)
          : await this.#merged(bucket, caller, limitedTo(asked, step), ways)
      if (page !== undefined) return page
    }
    throw tooMuchContention()
  }

  /** Undefined if a branch can be read in no such way. */
  async #waysOf(bucket: Key, branches: Demands): Promise<readonly Way[] | undefined> {
    const needsIndexes = !branches.every(isOfIds)
    const indexes = needsIndexes ? (await this.#options.store.indexes(bucket)).filter(({ isReady }) => isReady) : []
    const ways = branches.map(branch => ({ branch, through: namesOf(indexes.filter(index => covers(index, branch))) }))
    return ways.every(({ branch, through }) => isOfIds(branch) || through.length > 0) ? ways : undefined
  }

  /** Undefined if something has changed in between. */
  async #merged(bucket: Key, caller: Caller, asked: Asked, ways: readonly Way[]): Promise<VisiblePage | undefined> {
    const { query } = asked
    const parts: Part[] = []
    for (const way of ways) {
      if (parts.length > 0) await setImmediate()
      const part = await this.#partOf(bucket, asked, way)
      if (part === undefined) return undefined
      parts.push(part)
    }
    const position =
      parts.length === 0 ? await this.#options.store.position() : Math.min(...parts.map(part => part.position))
    const changedAt = Math.max(0, ...parts.map(part => part.changedAt))
    // A part that has not changed since then is the same in the state of `position`.
    if (parts.length > 1 && changedAt > position) return undefined
    const found = new Map(parts.flatMap(part => part.entries).map(entry => [entry.id, entry]))
    // The index finds only visible rows. Checking each row again makes sure that a bug there shows too little, never too much.
    const visible = [...found.values()].filter(entry => caller.may('read', `${bucket}/${entry.id}`, entry))
    const entries = parts.length < 2 ? visible : sortedBy(query, visible)
    const hasMore = entries.length > query.limit || parts.some(part => part.hasMore)
    const tags = tagsOf(parts)
    return {
      ...{ entries: entries.slice(0, query.limit), hasMore, position, changedAt },
      ...(tags === undefined ? {} : { version: changedAt, dependsOn: tags }),
    }
  }

  async #partOf(bucket: Key, { query, range }: Asked, { branch, through }: Way): Promise<Part | undefined> {
    if (range !== undefined && isOfIds(branch)) return this.#scan(bucket, branch, range, query.limit)
    const { limit, sort, after } = query
    const { plan, examined, entries, next, version, position, dependsOn } = await this.#options.store.query(bucket, {
      ...{ where: within(branch, query.where), limit, through },
      ...(sort === undefined ? {} : { sort }),
      ...(after === undefined ? {} : { after }),
    })
    this.#options.metrics.queries.value++
    this.#options.metrics.queryExamined.value += examined
    // The index has been dropped in between.
    if (through.length > 0 && !through.includes(plan.index ?? '')) return undefined
    const tags = dependsOn !== 'bucket' && isExact(branch) ? dependsOn : undefined
    return { entries, hasMore: next !== undefined, position, changedAt: version, tags }
  }

  async #scan(bucket: Key, branch: Branch, asked: IdRange, limit: number): Promise<Part> {
    const range = branch.reduce<IdRange | undefined>((bounds, { wanted }) => bounds && narrowed(bounds, wanted), asked)
    if (range === undefined) {
      return { entries: [], hasMore: false, position: await this.#options.store.position(), changedAt: 0 }
    }
    const { entries, next, version, position } = await this.#options.store.scan(bucket, { ...range, limit })
    return { entries, hasMore: next !== undefined, position, changedAt: version }
  }

  /** Reads every row. Undefined if something has changed in between. Throws INDEX_REQUIRED. */
  async #among(
    bucket: Key,
    caller: Caller,
    { query }: Asked,
    branches: Demands | undefined,
  ): Promise<VisiblePage | undefined> {
    const visible: StoredEntry[] = []
    let rows = 0
    let step = await this.#options.store.scan(bucket, { limit: STEP })
    const { version, position } = step
    for (;;) {
      rows += step.entries.length
      if (rows > UNINDEXED_ROWS_MAX) throw await this.#indexRequired(bucket, branches)
      visible.push(...step.entries.filter(entry => caller.may('read', `${bucket}/${entry.id}`, entry)))
      if (step.next === undefined) break
      await setImmediate()
      step = await this.#options.store.scan(bucket, { after: step.next, limit: STEP })
      if (step.version !== version) return undefined
    }
    const access = { equal: [], isSorted: false, isDescending: false }
    const { entries, next } = answerQuery(visible, query, access)
    return { entries, hasMore: next !== undefined, position, changedAt: version }
  }

  async #indexRequired(bucket: Key, branches: Demands | undefined): Promise<FreshetError> {
    return indexRequired(bucket, branches, await this.#options.store.indexes(bucket))
  }
}

/** Names the missing index. For an index that is being built it gives no numbers, since they would count hidden rows. */
function indexRequired(bucket: Key, branches: Demands | undefined, indexes: readonly IndexState[]): FreshetError {
  const missing = branches?.find(branch => !isOfIds(branch) && !indexes.some(i => i.isReady && covers(i, branch)))
  const index = missing && fieldsFor(missing) && indexFor(missing)
  const building = missing && indexes.find(declared => covers(declared, missing))
  const advice =
    building !== undefined
      ? `The index ${building.name} will serve once it is built: see ?settings.`
      : index !== undefined
        ? `Declare the index ${JSON.stringify(index)} with the bucket's settings.`
        : 'No index can find them: docs/guides/access.md says which forms of rules indexes can serve.'
  return new FreshetError(
    'INDEX_REQUIRED',
    `The rules let this caller see only some rows of ${bucket}, which has more than ${UNINDEXED_ROWS_MAX}, and no index ` +
      `leads to these rows. ${advice}`,
    { details: { rowsMax: UNINDEXED_ROWS_MAX, ...(index && { index }) } },
  )
}

function limitedTo(asked: Asked, step: number): Asked {
  return { ...asked, query: { ...asked.query, limit: Math.min(asked.query.limit, step) } }
}

function namesOf(indexes: readonly IndexState[]): readonly string[] {
  return indexes.map(({ name }) => name)
}

/**
 * The caller's own filter within a branch. If the branch demands a range, the caller's condition on the same field must not
 * widen it or choose another index, so it only filters, like a member of `$or`.
 */
function within(branch: Branch, where: Filter | undefined): Filter {
  const demands: readonly Filter[] = branch.map(({ field, wanted }) => ({ [field]: wanted }))
  if (where === undefined) return { $and: demands }
  return { $and: [...demands, isExact(branch) || isOfIds(branch) ? where : { $or: [where] }] }
}

/** Undefined if no ids remain. */
function narrowed(range: IdRange, { $eq, $prefix }: Wanted): IdRange | undefined {
  if (typeof $eq === 'string') return isWithin($eq, range) ? { from: $eq, to: `${$eq}\0` } : undefined
  if ($prefix === undefined) return undefined
  const { prefix = '' } = range
  if (prefix.startsWith($prefix)) return range
  return $prefix.startsWith(prefix) ? { ...range, prefix: $prefix } : undefined
}

function wantedOf({ from, to, prefix }: IdRange): Wanted | undefined {
  const wanted = {
    ...(from === undefined ? {} : { $gte: from }),
    ...(to === undefined ? {} : { $lt: to }),
    ...(prefix === undefined ? {} : { $prefix: prefix }),
  }
  return Object.keys(wanted).length === 0 ? undefined : wanted
}

function sortedBy(query: Query, entries: readonly StoredEntry[]): readonly StoredEntry[] {
  const compare = compareBy(query)
  return entries
    .map(entry => ({ entry, candidate: candidateOf(entry) }))
    .sort((a, b) => compare(a.candidate, b.candidate))
    .map(({ entry }) => entry)
}

/** The tags of all parts; undefined if a change without tags may change one of them. */
function tagsOf(parts: readonly Part[]): readonly Tag[] | undefined {
  if (parts.length === 0 || parts.some(({ tags }) => tags === undefined)) return undefined
  const tags = [...new Set(parts.flatMap(part => part.tags ?? []))]
  return tags.length <= TAGS_MAX ? tags : undefined
}
