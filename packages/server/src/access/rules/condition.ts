/**
 * Conditions of rules, as closures. What is missing satisfies nothing: a comparison with a claim or a field that is not there is
 * false, whichever comparison it is, so `object.owner == claim.sub` does not hold where neither exists. Only `== null` and
 * `!= null` ask for absence. Values of different types are different, and are in no order.
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
  /** The claims are not known: what depends on them alone may hold. For the demands of a rule, for any caller. */
  readonly isAnyCaller?: boolean
  /** Undefined where any is meant. */
  readonly namespace: string | undefined
  readonly bucket: string | undefined
  /** Undefined where a whole bucket is meant. */
  readonly id: string | undefined
  /** As it is; undefined if there is none. */
  readonly object?: unknown
  /** As it would be; undefined if there would be none. */
  readonly next?: unknown
}

export type Value = (scope: Scope) => unknown

export interface Condition {
  test(scope: Scope): boolean
  /** Which rows it holds for, as an index can find them; undefined where no index can. `id` and `object` are not looked at. */
  demands(scope: Scope): Demands | undefined
  /** For a caller without a token: undefined if it depends on more than that. */
  readonly whenAnonymous: boolean | undefined
  /** What it comes to whatever the objects are, and whatever of the path is left open: undefined if it depends on them. */
  testUnseen(scope: Scope): boolean | undefined
  /** What of the objects it looks at. */
  readonly looksAt: ReadonlySet<'object' | 'new'>
  /** The names of the members of the object, as it is, that it looks at. */
  readonly members: ReadonlySet<string>
  /**
   * It holds if and only if all comparisons of one of these hold, each as it is written. Comparisons that follow from others in the same
   * way may be left out or added. `widening.ts` compares rules by it.
   */
  readonly ways: readonly Way[]
}

export type Way = ReadonlySet<string>

export interface Operand {
  readonly value: Value
  /** It is missing for a caller without a token. */
  readonly isClaim?: boolean
  /** It is a claim, or a list with claims in it. */
  readonly usesClaims?: boolean
  /** The name under which an index has it: a dotted path into the object, or `$id`. */
  readonly field?: string
  /** It is written as such. */
  readonly isNull?: boolean
  readonly looksAt?: 'object' | 'new'
  /** The names of the members of the object, as it is, that it is of. */
  readonly members?: readonly string[]
  /** The parts of the path that it is made of. */
  readonly places?: readonly Place[]
}

const TRUE: Operand = { value: () => true }

export type Place = 'namespace' | 'bucket' | 'id'

const AUTHENTICATED_WORD = 'authenticated'
/** A condition with more ways is taken as one comparison. */
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

/** `text`: as it is written. */
export function compare(left: Operand, comparison: Comparison, right: Operand, text: string): Condition {
  if (left.isNull || right.isNull) return compareToNull(left.isNull ? right : left, comparison, text)
  const holds = COMPARE[comparison]
  const test = (scope: Scope) => {
    const [a, b] = [left.value(scope), right.value(scope)]
    return a !== undefined && a !== null && b !== undefined && b !== null && holds(a, b)
  }
  const { testUnseen, ...tested } = testing(test, [left, right])
  // A claim that is missing satisfies nothing, whatever it is compared with.
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

/** True if the value is `true`, and not if it is anything else. `text`: as it is written. */
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

/** What does not hold without a token needs one. */
function oneWay(text: string, whenAnonymous: Maybe): Pick<Condition, 'whenAnonymous' | 'ways'> {
  return { whenAnonymous, ways: [new Set(whenAnonymous === false ? [text, AUTHENTICATED_WORD] : [text])] }
}

function textOf(ways: readonly Way[]): string {
  return ways.map(way => `(${[...way].sort().join(' and ')})`).join(' or ')
}

/** Three-valued: undefined is "it depends". */
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

/** A member of a member of a value; undefined if there is none. Nothing that an object merely inherits is there. */
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

/** NaN, which is in no order, where the types differ. */
function order(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a !== 'string' || typeof b !== 'string') return Number.NaN
  return a < b ? -1 : a > b ? 1 : 0
}

function seenBy(operands: readonly Operand[]): ReadonlySet<'object' | 'new'> {
  return new Set(operands.flatMap(({ looksAt }) => (looksAt === undefined ? [] : [looksAt])))
}
