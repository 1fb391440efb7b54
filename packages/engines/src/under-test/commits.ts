/** Commits and reads of them, for tests of failures. */
import { setTimeout as delay } from 'node:timers/promises'
import type { CommitResult, MaybePromise, PutWrite, Store } from '@freshet/core/store'
import { FreshetError, type OperationId } from '@freshet/protocol'

const DEADLINE_MS = 60_000

export interface Added {
  readonly key: string
  readonly position: number
  readonly units: readonly number[] | undefined
  readonly again: (() => Promise<CommitResult>) | undefined
}

let operations = 0

/** Adds 1. */
export async function add(store: Store, key: string, isNamed: boolean): Promise<Added> {
  const commit = {
    writes: [],
    adds: [{ key, by: 1, decimals: 0 }],
    ...(isNamed && operation(`operation-${++operations}`)),
  }
  const result = await store.commit(commit)
  if (!result.committed) throw new Error(`Refused: ${JSON.stringify(result)}`)
  return {
    key,
    position: result.position,
    units: result.units,
    again: isNamed ? () => store.commit(commit) : undefined,
  }
}

export function operation(name: string): { operation: { id: OperationId; fingerprint: string } } {
  return { operation: { id: { kind: 'foreign', id: name }, fingerprint: name } }
}

export async function put(store: Store, key: string): Promise<number> {
  const result = await store.commit({ writes: [aPut(key)] })
  if (!result.committed) throw new Error(`Refused: ${JSON.stringify(result)}`)
  return result.position
}

export function aPut(key: string): PutWrite {
  return { key, contentType: 'text/plain', body: Buffer.from('1') }
}

export async function textOf(store: Store, key: string): Promise<string | undefined> {
  const value = await store.get(key)
  return value && Buffer.from(value.body).toString()
}

export async function allChanges(store: Store): Promise<number[]> {
  const found: number[] = []
  for (let after = await store.trimmedTo(); ; after = found.at(-1)!) {
    const entries = await store.changes(after)
    if (entries.length === 0) return found
    found.push(...entries.map(({ position }) => position))
  }
}

export async function until(isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + DEADLINE_MS
  while (!isSo()) {
    if (performance.now() > deadlineMs) throw new Error(`This condition was not met in time: ${isSo}`)
    await delay(5)
  }
}

/** Retries until a store that was cut off has reconnected, which it does by itself, and returns the answer. */
export async function untilAnswered<Answer>(ask: () => MaybePromise<Answer>): Promise<Answer> {
  for (const deadlineMs = performance.now() + DEADLINE_MS; ; await delay(5)) {
    try {
      return await ask()
    } catch (error) {
      const isAway = error instanceof FreshetError && error.code === 'STORE_UNAVAILABLE'
      if (!isAway || performance.now() > deadlineMs) throw error
    }
  }
}
