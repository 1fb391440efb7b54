/**
 * The conditions of a filter on single fields that hold whatever else it says: the members of its top level, and of the `$and`
 * there. Only these can narrow down the search, and only equality makes a result depend on less than the whole bucket.
 */
import type { Condition, Filter, Scalar, TagValue } from '@freshet/protocol'
import { conditionOf } from './matches.js'

/** All conditions on each field. */
export type Conditions = ReadonlyMap<string, readonly Condition[]>

export function conditionsOf(filter: Filter | undefined, found: Map<string, Condition[]> = new Map()): Conditions {
  for (const [name, member] of Object.entries(filter ?? {})) {
    if (name === '$and') for (const clause of member as readonly Filter[]) conditionsOf(clause, found)
    else if (name !== '$or') found.set(name, [...(found.get(name) ?? []), conditionOf(member as Scalar | Condition)])
  }
  return found
}

/** The only values that a field can have, in the given order, each once; undefined if the conditions do not list them. */
export function valuesDemanded(conditions: readonly Condition[] | undefined): readonly TagValue[] | undefined {
  const demands = (conditions ?? []).flatMap(condition => {
    if ('$eq' in condition) return [[condition.$eq as TagValue]]
    if (condition.$in !== undefined) return [[...new Set(condition.$in)]]
    return condition.$exists === false ? [[undefined]] : []
  })
  return demands.sort((a, b) => a.length - b.length)[0]
}

/** Every combination of one value of each list. */
export function combinations(values: readonly (readonly TagValue[])[]): readonly (readonly TagValue[])[] {
  return values.reduce<readonly (readonly TagValue[])[]>(
    (begun, next) => begun.flatMap(one => next.map(value => [...one, value])),
    [[]],
  )
}
