/** Several additions in one request, each an operation of its own: a `POST` to a bucket of counters. */
import { FreshetError, fromProblem, type Path, type Position, type Version } from '@freshet/protocol'
import { JSON_HEADERS } from '../http/transport.js'
import type { Operation } from '../operations/operation-ids.js'
import type { Write } from './write.js'

/** One of several additions: to which counter, and how much. */
export interface CounterAddition {
  /** The id of the counter. */
  readonly id: string
  /** How much to add; default 1. */
  readonly by?: number
}

/** The result of one of several additions: the new value, or why it was refused. */
export type AdditionResult =
  | { readonly id: string; readonly value: number; readonly version: Version }
  | { readonly id: string; readonly error: FreshetError }

export interface AdditionsAnswer {
  readonly position: Position
  readonly results: readonly (
    | { readonly id: string; readonly value: number; readonly version: Version }
    | { readonly id: string; readonly error: unknown }
  )[]
}

export function additionsOf(
  bucket: Path,
  pathOf: (id: string) => Path,
  additions: readonly CounterAddition[],
  operations: readonly Operation[],
): Write {
  return {
    get request() {
      const items = additions.map(({ id, by = 1 }, i) => ({ id, add: by, key: operations[i]!.key }))
      return {
        method: 'POST' as const,
        target: bucket,
        headers: JSON_HEADERS,
        body: JSON.stringify({ additions: items }),
      }
    },
    paths: [...new Set(additions.map(({ id }) => pathOf(id))), bucket],
    createdPath: pathOf,
    operations,
    check: checkAdditions,
  }
}

export function readResults({ results }: AdditionsAnswer): AdditionResult[] {
  return results.map(({ id, ...result }) => {
    if (!('error' in result)) return { id, value: result.value, version: result.version }
    const error = fromProblem(result.error)
    return { id, error: error ?? new FreshetError('ANSWER_INVALID', `The result of the addition to ${id} is unknown.`) }
  })
}

/** Throws errors after which the whole request must be sent again; additions already done get the same answer then. */
export function checkAdditions(answer: unknown): void {
  const { results } = answer as Partial<AdditionsAnswer>
  if (!Array.isArray(results))
    throw new FreshetError('ANSWER_INVALID', 'The server answered additions without their results.')
  for (const { error } of results as readonly { readonly error?: unknown }[]) {
    const problem = error === undefined ? undefined : fromProblem(error)
    if (problem?.code === 'OPERATION_IN_PROGRESS' || problem?.details.reason === 'early') throw problem
  }
}
