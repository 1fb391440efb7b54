/** Whether a filter matches an object. */
import type { Condition, Filter, Scalar, SortValue } from '@freshet/protocol'
import { type Candidate, fieldOf } from './candidate.js'
import { compareValues } from './order.js'

export function matches(filter: Filter | undefined, candidate: Candidate): boolean {
  if (filter === undefined) return true
  return Object.entries(filter).every(([name, member]) => {
    if (name === '$and') return (member as readonly Filter[]).every(clause => matches(clause, candidate))
    if (name === '$or') return (member as readonly Filter[]).some(clause => matches(clause, candidate))
    return matchesCondition(conditionOf(member as Scalar | Condition), fieldOf(candidate, name))
  })
}

export function conditionOf(member: Scalar | Condition): Condition {
  return typeof member === 'object' && member !== null ? member : { $eq: member }
}

export function matchesCondition(condition: Condition, value: SortValue): boolean {
  return Object.entries(condition).every(([operator, operand]) => matchesOne(operator, operand, value))
}

function matchesOne(operator: string, operand: unknown, value: SortValue): boolean {
  if (operator === '$exists') return (value !== undefined) === operand
  if (operator === '$in') return (operand as readonly Scalar[]).some(one => isEqual(value, one))
  if (operator === '$prefix') return typeof value === 'string' && value.startsWith(operand as string)
  if (operator === '$eq') return isEqual(value, operand as Scalar)
  if (operator === '$ne') return !isEqual(value, operand as Scalar)
  if (!isSameType(value, operand as Scalar)) return false
  const difference = compareValues(value, operand as Scalar)
  if (operator === '$lt') return difference < 0
  if (operator === '$lte') return difference <= 0
  return operator === '$gt' ? difference > 0 : difference >= 0
}

function isEqual(value: SortValue, scalar: Scalar): boolean {
  return value === scalar
}

function isSameType(value: SortValue, scalar: Scalar): boolean {
  return value === null || scalar === null ? value === scalar : typeof value === typeof scalar
}
