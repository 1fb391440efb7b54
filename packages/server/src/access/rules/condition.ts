/**
 * Conditions of rules, as closures. What is missing satisfies nothing: a comparison with a claim or a field that is not there is
 * false, whichever comparison it is, so `object.owner == claim.sub` does not hold where neither exists. Only `== null` and
 * `!= null` ask for absence. Values of different types are different, and are in no order.
 */
export interface Scope {
  /** Undefined: nobody in particular. */
  readonly claims: Readonly<Record<string, unknown>> | undefined
  readonly namespace: string
  readonly bucket: string
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
  /** For somebody without a token: undefined if it depends on more than that. */
  readonly whenAnonymous: boolean | undefined
  /** What of the objects it looks at. */
  readonly looksAt: ReadonlySet<'object' | 'new'>
}

export interface Operand {
  readonly value: Value
  /** It is missing for somebody without a token. */
  readonly isClaim?: boolean
  /** It is written as such. */
  readonly isNull?: boolean
  readonly looksAt?: 'object' | 'new'
}

const NOTHING: ReadonlySet<'object' | 'new'> = new Set()

export const ALWAYS: Condition = { test: () => true, whenAnonymous: true, looksAt: NOTHING }
export const AUTHENTICATED: Condition = {
  test: ({ claims }) => claims !== undefined,
  whenAnonymous: false,
  looksAt: NOTHING,
}

export const COMPARISONS = ['==', '!=', '<', '<=', '>', '>=', 'in', 'contains', 'startsWith'] as const
export type Comparison = (typeof COMPARISONS)[number]

export function compare(left: Operand, comparison: Comparison, right: Operand): Condition {
  const looksAt = seenBy([left, right])
  if (left.isNull || right.isNull) return compareToNull(left.isNull ? right : left, comparison, looksAt)
  const holds = COMPARE[comparison]
  return {
    test: scope => {
      const [a, b] = [left.value(scope), right.value(scope)]
      return a !== undefined && a !== null && b !== undefined && b !== null && holds(a, b)
    },
    whenAnonymous: left.isClaim || right.isClaim ? false : undefined,
    looksAt,
  }
}

function compareToNull(operand: Operand, comparison: Comparison, looksAt: Condition['looksAt']): Condition {
  const wantsNull = comparison === '=='
  return {
    test: scope => ((operand.value(scope) ?? null) === null) === wantsNull,
    whenAnonymous: operand.isClaim ? wantsNull : undefined,
    looksAt,
  }
}

/** True if the value is `true`, and not if it is anything else. */
export function isTrue(operand: Operand): Condition {
  return {
    test: scope => operand.value(scope) === true,
    whenAnonymous: operand.isClaim ? false : undefined,
    looksAt: seenBy([operand]),
  }
}

export function not({ test, whenAnonymous, looksAt }: Condition): Condition {
  return {
    test: scope => !test(scope),
    whenAnonymous: whenAnonymous === undefined ? undefined : !whenAnonymous,
    looksAt,
  }
}

export function both(a: Condition, b: Condition): Condition {
  const isFalse = a.whenAnonymous === false || b.whenAnonymous === false
  return {
    test: scope => a.test(scope) && b.test(scope),
    whenAnonymous: isFalse ? false : a.whenAnonymous === undefined ? undefined : b.whenAnonymous,
    looksAt: new Set([...a.looksAt, ...b.looksAt]),
  }
}

export function either(a: Condition, b: Condition): Condition {
  const isTrue = a.whenAnonymous === true || b.whenAnonymous === true
  return {
    test: scope => a.test(scope) || b.test(scope),
    whenAnonymous: isTrue ? true : a.whenAnonymous === undefined ? undefined : b.whenAnonymous,
    looksAt: new Set([...a.looksAt, ...b.looksAt]),
  }
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
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => order(a, b) < 0,
  '<=': (a, b) => order(a, b) <= 0,
  '>': (a, b) => order(a, b) > 0,
  '>=': (a, b) => order(a, b) >= 0,
  in: (a, b) => Array.isArray(b) && b.includes(a),
  contains: (a, b) => Array.isArray(a) && a.includes(b),
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
