/**
 * The rows for which a condition holds, in a form that an index can find: one or more branches, each a list of demands that
 * must all hold. A branch without demands holds for every row. If a condition cannot be written in this form (`!=`, `not`,
 * `contains` of a field), its demands are undefined: then no index finds its rows, and no row is missed by guessing.
 *
 * Invariant: a row satisfies the condition if and only if it satisfies all demands of one branch. So a read through an index
 * that covers a branch (`covers`) touches rows that its caller may see, and no others.
 */
import { indexNameOf } from '@freshet/core/queries'
import {
  ID_FIELD,
  INDEX_FIELDS_MAX,
  type IndexDeclaration,
  isWellFormed,
  type Condition as Wanted,
} from '@freshet/protocol'
import type { Comparison, Operand, Scope } from './condition.js'

export interface Demand {
  /** A dotted path, or `$id`. */
  readonly field: string
  readonly wanted: Wanted
}

export type Branch = readonly Demand[]
export type Demands = readonly Branch[]

export const EVERY_ROW: Demands = [[]]
export const NO_ROW: Demands = []

/** A caller with more branches, such as a member of hundreds of teams, is not served by indexes. */
const BRANCHES_MAX = 100
/** Indexes truncate longer texts. */
const TEXT_BYTES_MAX = 199
const FLIPPED: Partial<Record<Comparison, Comparison>> = {
  ...{ '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=', in: 'contains', contains: 'in' },
}
const RANGES: Partial<Record<Comparison, keyof Wanted>> = { '<': '$lt', '<=': '$lte', '>': '$gt', '>=': '$gte' }

type Test = (scope: Scope) => boolean

export function demandsOfComparison(
  left: Operand,
  comparison: Comparison,
  right: Operand,
  scope: Scope,
  test: Test,
): Demands | undefined {
  if (!looksAtRow(left) && !looksAtRow(right)) return ofNoRow([left, right], scope, test)
  if (looksAtRow(left) && looksAtRow(right)) return undefined
  const [row, other] = looksAtRow(left) ? [left, right] : [right, left]
  const how = looksAtRow(left) ? comparison : FLIPPED[comparison]
  if (row.field === undefined || how === undefined) return undefined
  if (scope.isAnyCaller && other.usesClaims) return example(row.field, how)
  return demandsOf(row.field, how, other.value(scope))
}

export function demandsOfNull(operand: Operand, wantsNull: boolean, scope: Scope, test: Test): Demands | undefined {
  if (!looksAtRow(operand)) return ofNoRow([operand], scope, test)
  const { field } = operand
  if (field === ID_FIELD) return wantsNull ? NO_ROW : EVERY_ROW
  if (field === undefined || !wantsNull) return undefined
  return [[{ field, wanted: { $eq: null } }], [{ field, wanted: { $exists: false } }]]
}

/** A branch for each way to satisfy both. */
export function allOf(a: Demands | undefined, b: Demands | undefined): Demands | undefined {
  if (a?.length === 0 || b?.length === 0) return NO_ROW
  if (a === undefined || b === undefined) return undefined
  return bounded(a.flatMap(one => b.flatMap(other => joined(one, other))))
}

/** For any caller, each may be the one that holds. */
export function anyOf(all: readonly (Demands | undefined)[], isAnyCaller: boolean = false): Demands | undefined {
  if (!isAnyCaller && all.some(seesEveryRow)) return EVERY_ROW
  const branches = new Map<string, Branch>()
  for (const demands of all) {
    if (demands === undefined) return undefined
    for (const branch of demands) branches.set(JSON.stringify(branch), branch)
  }
  return bounded([...branches.values()])
}

/**
 * The rows that do not satisfy the demands, as far as that does not depend on rows. For any caller, if something may hold, its
 * negation may hold, too.
 */
export function unlessDemanded(demands: Demands | undefined, isAnyCaller: boolean): Demands | undefined {
  if (demands?.length === 0) return EVERY_ROW
  if (demands?.some(branch => branch.length === 0)) return isAnyCaller ? EVERY_ROW : NO_ROW
  return undefined
}

/** Whether all rows are seen. */
export function seesEveryRow(demands: Demands | undefined): boolean {
  return demands?.some(branch => branch.length === 0) ?? false
}

/** Whether a branch demands only equality: then the tags of an index that covers it belong to visible rows only. */
export function isExact(branch: Branch): boolean {
  return branch.every(({ field, wanted }) => field !== ID_FIELD && isEquality(wanted))
}

export function isOfIds(branch: Branch): boolean {
  return branch.every(({ field }) => field === ID_FIELD)
}

/** The fields of an index that would cover a branch; undefined if no index can. */
export function fieldsFor(branch: Branch): readonly string[] | undefined {
  const equal = fieldsOf(branch.filter(({ wanted }) => isEquality(wanted)))
  const ranged = fieldsOf(branch.filter(({ wanted }) => !isEquality(wanted)))
  const fields = [...equal, ...ranged]
  const isPlain = fieldsOf(branch).length === fields.length && !fields.includes(ID_FIELD)
  return isPlain && ranged.length <= 1 && fields.length <= INDEX_FIELDS_MAX ? fields : undefined
}

/** The index that would cover a branch, with a name for it. */
export function indexFor(branch: Branch): IndexDeclaration {
  const fields = fieldsFor(branch) ?? []
  return { name: indexNameOf(fields), fields }
}

/** Whether all rows that an index finds under the demands of a branch satisfy the branch. */
export function covers({ fields }: IndexDeclaration, branch: Branch): boolean {
  const needed = fieldsFor(branch)
  if (needed === undefined || needed.length === 0) return false
  const equal = fieldsOf(branch.filter(({ wanted }) => isEquality(wanted)))
  const first = fields.slice(0, equal.length)
  return (
    equal.every(field => first.includes(field)) &&
    needed.slice(equal.length).every(field => fields[equal.length] === field)
  )
}

function looksAtRow({ looksAt, field }: Operand): boolean {
  return looksAt !== undefined || field !== undefined
}

function ofNoRow(operands: readonly Operand[], scope: Scope, test: Test): Demands {
  const isOpen = ({ usesClaims, places = [] }: Operand) =>
    usesClaims || places.some(place => scope[place] === undefined)
  if (scope.isAnyCaller && operands.some(isOpen)) return EVERY_ROW
  return test(scope) ? EVERY_ROW : NO_ROW
}

function demandsOf(field: string, comparison: Comparison, value: unknown): Demands | undefined {
  if (value === undefined || value === null) return NO_ROW
  if (comparison === '==') return ofValues(field, [value])
  if (comparison === 'in') return Array.isArray(value) ? ofValues(field, value) : NO_ROW
  if (comparison === 'startsWith') {
    if (typeof value !== 'string') return NO_ROW
    return isIndexable(value) ? [[{ field, wanted: { $prefix: value } }]] : undefined
  }
  const range = RANGES[comparison]
  // Rules and indexes sort texts differently.
  if (range === undefined || typeof value === 'string') return undefined
  if (typeof value !== 'number') return NO_ROW
  return field === ID_FIELD ? NO_ROW : isIndexable(value) ? [[{ field, wanted: { [range]: value } }]] : undefined
}

/** Arrays and objects are equal to nothing. */
function ofValues(field: string, values: readonly unknown[]): Demands | undefined {
  const scalars = [...new Set(values)].filter(
    value => value !== null && value !== undefined && typeof value !== 'object' && isCertain(value),
  )
  const possible = field === ID_FIELD ? scalars.filter(value => typeof value === 'string') : scalars
  if (!possible.every(isIndexable)) return undefined
  return bounded(possible.map(value => [{ field, wanted: { $eq: value } }]))
}

/** Several whole numbers beyond 2^53 have the same value here, so such a value is equal to nothing. */
export function isCertain(value: unknown): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value)
}

/** The demands of a comparison for some caller, with an arbitrary value. */
function example(field: string, comparison: Comparison): Demands | undefined {
  if (comparison === '==' || comparison === 'in') return [[{ field, wanted: { $eq: '' } }]]
  if (comparison === 'startsWith') return [[{ field, wanted: { $prefix: '' } }]]
  return demandsOf(field, comparison, 0)
}

function isIndexable(value: unknown): value is string | number | boolean {
  if (typeof value === 'string') {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: indexes spell these two with more bytes.
    return isWellFormed(value) && Buffer.byteLength(value) <= TEXT_BYTES_MAX && !/[\u0000\u0001]/.test(value)
  }
  return typeof value === 'boolean' || (typeof value === 'number' && Math.abs(value) < Number.MAX_VALUE)
}

/** Empty if no row can satisfy both. Drops duplicate demands. */
function joined(a: Branch, b: Branch): readonly Branch[] {
  const rest = b.filter(({ field, wanted }) => !a.some(known => known.field === field && isSame(known.wanted, wanted)))
  const differs = (one: Demand, other: Demand) =>
    one.field === other.field && isEquality(one.wanted) && isEquality(other.wanted)
  return rest.some(demand => a.some(known => differs(known, demand))) ? [] : [[...a, ...rest]]
}

function bounded(branches: Demands): Demands | undefined {
  return branches.length <= BRANCHES_MAX ? branches : undefined
}

function isEquality(wanted: Wanted): boolean {
  return '$eq' in wanted || '$exists' in wanted
}

function isSame(a: Wanted, b: Wanted): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function fieldsOf(branch: Branch): readonly string[] {
  return [...new Set(branch.map(({ field }) => field))]
}
