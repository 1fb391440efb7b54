/**
 * Conditions of rules, as closures. A missing value satisfies nothing: every comparison with a claim or a field that is absent
 * is false, so `object.owner == claim.sub` does not hold if neither exists. Only `== null` and `!= null` test for absence.
 * Values of different types are never equal and never ordered.
 *
 * A condition also says what it demands of the rows that a caller may see (`demands.ts`), so that an index can find them.
 */
import {
  allOf,
  anyOf,
  type Demands,
  demandsOfComparison,
  demandsOfNull,
  EVERY_ROW,
  isCertain,
  NO_ROW,
  unlessDemanded,
} from './demands.js'

export interface Scope {
  /** Undefined: a caller without a token. */
  readonly claims: Readonly<Record<string, unknown>> | undefined
  /**
   * The claims are not known, so a test that depends on them alone may hold. For the demands that a rule makes for any caller.
   */
  readonly isAnyCaller?: boolean
  /** Undefined: any namespace. */
  readonly namespace: string | undefined
  readonly bucket: string | undefined
  /** Undefined: a whole bucket. */
  readonly id: string | undefined
  /** The object as it is; undefined if there is no object. */
  readonly object?: unknown
  /** The object as it would be; undefined if the write deletes it. */
  readonly next?: unknown
}

export type Value = (scope: Scope) => unknown

export interface Condition {
  test(scope: Scope): boolean
  /**
   * The rows for which the condition holds, in a form that an index can find; undefined if no index can. Ignores `id` and
   * `object`.
   */
  demands(scope: Scope): Demands | undefined
  /** The result for a caller without a token; undefined if it depends on more than that. */
  readonly whenAnonymous: boolean | undefined
  /**
   * The result for all objects, and for every value of the parts of the path that are left open; undefined if it depends on
   * them.
   */
  testUnseen(scope: Scope): boolean | undefined
  /** Which states of the object it looks at. */
  readonly looksAt: ReadonlySet<'object' | 'new'>
  /** The names of the members of the stored object that it looks at. */
  readonly members: ReadonlySet<string>
  /**
   * The condition holds if and only if all comparisons of one of these ways hold, each as it is written. Comparisons that
   * follow from others of the same way may be left out or added. `widening.ts` compares rules by it.
   */
  readonly ways: readonly Way[]
}

export type Way = ReadonlySet<string>

export interface Operand {
  readonly value: Value
  /** The operand is missing for a caller without a token. */
  readonly isClaim?: boolean
  /** The operand is a claim, or a list that contains claims. */
  readonly usesClaims?: boolean
  /** The operand's name in an index: a dotted path into the object, or `$id`. */
  readonly field?: string
  /** The operand is the literal `null`. */
  readonly isNull?: boolean
  readonly looksAt?: 'object' | 'new'
  /** The names of the members of the stored object that the operand reads. */
  readonly members?: readonly string[]
  /** The parts of the path that the operand uses. */
  readonly places?: readonly Place[]
}

const TRUE: Operand = { value: () => true }

export type Place = 'namespace' | 'bucket' | 'id'

const AUTHENTICATED_WORD = 'authenticated'
/** A condition with more ways counts as one comparison. */
const WAYS_MAX = 64

export const ALWAYS: Condition = {
  ...testing(() => true, []),
  demands: () => EVERY_ROW,
  whenAnonymous: true,
  ways: [new Set()],
}
export const AUTHENTICATED: Condition = {
  ...testing(({ claims }) => claims !== undefined, []),
  demands: ({ claims, isAnyCaller }) => (claims !== undefined || isAnyCaller ? EVERY_ROW : NO_ROW),
  whenAnonymous: false,
  ways: [new Set([AUTHENTICATED_WORD])],
}

export const COMPARISONS = ['==', '!=', '<', '<=', '>', '>=', 'in', 'contains', 'startsWith'] as const
export type Comparison = (typeof COMPARISONS)[number]

/** `text`: the comparison as it is written. */
export function compare(left: Operand, comparison: Comparison, right: Operand, text: string): Condition {
  if (left.isNull || right.isNull) return compareToNull(left.isNull ? right : left, comparison, text)
  const holds = COMPARE[comparison]
  const test = (scope: Scope) => {
    const [a, b] = [left.value(scope), right.value(scope)]
    return a !== undefined && a !== null && b !== undefined && b !== null && holds(a, b)
  }
  const { testUnseen, ...tested } = testing(test, [left, right])
  // A missing claim satisfies nothing, whatever it is compared with.
  const isMissing = ({ isClaim, value }: Operand, scope: Scope) => isClaim === true && (value(scope) ?? null) === null
  return {
    ...tested,
    demands: scope => demandsOfComparison(left, comparison, right, scope, test),
    ...oneWay(text, left.isClaim || right.isClaim ? false : undefined),
    testUnseen: scope => (isMissing(left, scope) || isMissing(right, scope) ? false : testUnseen(scope)),
  }
}

function compareToNull(operand: Operand, comparison: Comparison, text: string): Condition {
  const wantsNull = comparison === '=='
  const test = (scope: Scope) => ((operand.value(scope) ?? null) === null) === wantsNull
  return {
    ...testing(test, [operand]),
    demands: scope => demandsOfNull(operand, wantsNull, scope, test),
    ...oneWay(text, operand.isClaim ? wantsNull : undefined),
  }
}

/** True only if the value is `true`. `text`: the operand as it is written. */
export function isTrue(operand: Operand, text: string): Condition {
  const test = (scope: Scope) => operand.value(scope) === true
  return {
    ...testing(test, [operand]),
    demands: scope => demandsOfComparison(operand, '==', TRUE, scope, test),
    ...oneWay(text, operand.isClaim ? false : undefined),
  }
}

export function not({ test, demands, whenAnonymous, testUnseen, looksAt, members, ways }: Condition): Condition {
  return {
    test: scope => !test(scope),
    demands: scope => unlessDemanded(demands(scope), scope.isAnyCaller === true),
    ...oneWay(`not (${textOf(ways)})`, opposite(whenAnonymous)),
    testUnseen: scope => opposite(testUnseen(scope)),
    looksAt,
    members,
  }
}

export function both(a: Condition, b: Condition): Condition {
  const whenAnonymous = bothOf(a.whenAnonymous, b.whenAnonymous)
  return {
    test: scope => a.test(scope) && b.test(scope),
    demands: scope => allOf(a.demands(scope), b.demands(scope)),
    ...(a.ways.length * b.ways.length > WAYS_MAX
      ? oneWay(`(${textOf(a.ways)}) and (${textOf(b.ways)})`, whenAnonymous)
      : { whenAnonymous, ways: a.ways.flatMap(one => b.ways.map(other => new Set([...one, ...other]))) }),
    testUnseen: scope => bothOf(a.testUnseen(scope), b.testUnseen(scope)),
    looksAt: new Set([...a.looksAt, ...b.looksAt]),
    members: new Set([...a.members, ...b.members]),
  }
}

export function either(a: Condition, b: Condition): Condition {
  return {
    test: scope => a.test(scope) || b.test(scope),
    demands: scope => anyOf([a.demands(scope), b.demands(scope)], scope.isAnyCaller),
    whenAnonymous: eitherOf(a.whenAnonymous, b.whenAnonymous),
    ways: [...a.ways, ...b.ways],
    testUnseen: scope => eitherOf(a.testUnseen(scope), b.testUnseen(scope)),
    looksAt: new Set([...a.looksAt, ...b.looksAt]),
    members: new Set([...a.members, ...b.members]),
  }
}

function testing(
  test: Condition['test'],
  operands: readonly Operand[],
): Pick<Condition, 'test' | 'testUnseen' | 'looksAt' | 'members'> {
  const looksAt = seenBy(operands)
  const places = operands.flatMap(operand => operand.places ?? [])
  const isOpen = (scope: Scope) => looksAt.size > 0 || places.some(place => scope[place] === undefined)
  const members = new Set(operands.flatMap(operand => operand.members ?? []))
  return { test, testUnseen: scope => (isOpen(scope) ? undefined : test(scope)), looksAt, members }
}

/** A condition that does not hold without a token requires one. */
function oneWay(text: string, whenAnonymous: Maybe): Pick<Condition, 'whenAnonymous' | 'ways'> {
  return { whenAnonymous, ways: [new Set(whenAnonymous === false ? [text, AUTHENTICATED_WORD] : [text])] }
}

function textOf(ways: readonly Way[]): string {
  return ways.map(way => `(${[...way].sort().join(' and ')})`).join(' or ')
}

/** Three-valued: undefined means "it depends". */
type Maybe = boolean | undefined

function opposite(a: Maybe): Maybe {
  return a === undefined ? undefined : !a
}

function bothOf(a: Maybe, b: Maybe): Maybe {
  return a === false || b === false ? false : a === undefined ? undefined : b
}

function eitherOf(a: Maybe, b: Maybe): Maybe {
  return a === true || b === true ? true : a === undefined ? undefined : b
}

/** Follows a path into a value; undefined if it leads nowhere. Inherited members do not count. */
export function memberOf(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

const COMPARE: Readonly<Record<Comparison, (a: unknown, b: unknown) => boolean>> = {
  '==': (a, b) => a === b && isCertain(a),
  '!=': (a, b) => a !== b,
  '<': (a, b) => order(a, b) < 0,
  '<=': (a, b) => order(a, b) <= 0,
  '>': (a, b) => order(a, b) > 0,
  '>=': (a, b) => order(a, b) >= 0,
  in: (a, b) => Array.isArray(b) && b.includes(a) && isCertain(a),
  contains: (a, b) => Array.isArray(a) && a.includes(b) && isCertain(b),
  startsWith: (a, b) => typeof a === 'string' && typeof b === 'string' && a.startsWith(b),
}

/** NaN, which satisfies no comparison, if the types differ. */
function order(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a !== 'string' || typeof b !== 'string') return Number.NaN
  return a < b ? -1 : a > b ? 1 : 0
}

function seenBy(operands: readonly Operand[]): ReadonlySet<'object' | 'new'> {
  return new Set(operands.flatMap(({ looksAt }) => (looksAt === undefined ? [] : [looksAt])))
}
