/** Several additions in one request, each an operation of its own: `POST` to a bucket of counters. */
import { FreshetError, fromProblem, type Path, type Position, type Version } from '@freshet/protocol'
import { JSON_HEADERS } from '../http/transport.js'
import type { Operation } from '../operations/operation-ids.js'
import type { Write } from './write.js'

/** One of several additions: to which counter, and how much. */
export interface CounterAddition {
  readonly id: string
  /** 1 unless given. */
  readonly by?: number
}

/** What one of several additions came to. */
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
    return { id, error: error ?? new FreshetError('ANSWER_INVALID', `What was added to ${id} is not known.`) }
  })
}

/** Throws what only means that all of it is to be sent again: what was done by then is answered as it was. */
export function checkAdditions(answer: unknown): void {
  const { results } = answer as Partial<AdditionsAnswer>
  if (!Array.isArray(results))
    throw new FreshetError('ANSWER_INVALID', 'Additions were answered without their results.')
  for (const { error } of results as readonly { readonly error?: unknown }[]) {
    const problem = error === undefined ? undefined : fromProblem(error)
    if (problem?.code === 'OPERATION_IN_PROGRESS' || problem?.details.reason === 'early') throw problem
  }
}
