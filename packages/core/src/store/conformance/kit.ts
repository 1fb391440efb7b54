/** What the suite needs from its caller, and the helpers that all of its tests share. */
import type { Commit, Key, Position, Store, StoredValue } from '../store.js'

/** As in vitest, and close enough to other runners. */
export interface TestKit {
  describe(name: string, body: () => void): void
  test(name: string, body: () => Promise<void>): void
  expect(actual: unknown, message?: string): Matchers
  /** Gives other pending work its turn, such as `setImmediate` of node:timers/promises does. */
  nextTurn(): Promise<unknown>
}

export interface Matchers {
  toBe(expected: unknown): void
  toEqual(expected: unknown): void
  toMatchObject(expected: object): void
  toBeGreaterThan(expected: number): void
  toBeGreaterThanOrEqual(expected: number): void
}

export interface StoreUnderTest {
  readonly store: Store
  /** Another access path to the same store. */
  readonly peer?: Store
  /** Closes the store and opens it again; undefined if it keeps nothing. */
  readonly reopen?: () => Promise<Store>
  /** Closes and removes everything. The store may be closed already. */
  dispose(): Promise<void>
}

export interface ConformanceOptions {
  readonly kit: TestKit
  /** A new, empty store. */
  open(): Promise<StoreUnderTest>
  /** The seed of the random walk; a failure names it. */
  readonly seed?: number
  /** How many actions the random walk takes. */
  readonly steps?: number
  /** How many buckets the random queries fill; 40 unless given. */
  readonly queryBuckets?: number
}

export type StoreTest = (under: StoreUnderTest) => Promise<void>

/** Declares a test with a store of its own. */
export function testWith({ kit, open }: ConformanceOptions, name: string, body: StoreTest): void {
  kit.test(name, async () => {
    const under = await open()
    try {
      await body(under)
    } finally {
      await under.dispose()
    }
  })
}

export function bytes(...values: number[]): Uint8Array {
  return Uint8Array.from(values)
}

export function put(key: Key, ...body: number[]): Commit['writes'][number] {
  return { key, contentType: 'application/octet-stream', body: bytes(...body) }
}

export function remove(key: Key): Commit['writes'][number] {
  return { key, delete: true }
}

/** Commits, and throws unless it succeeds. */
export async function write(store: Store, ...writes: Commit['writes'][number][]): Promise<Position> {
  return commitOrThrow(store, { writes })
}

export async function commitOrThrow(store: Store, commit: Commit): Promise<Position> {
  const result = await store.commit(commit)
  if (!result.committed) throw new Error(`A commit met conflicts: ${JSON.stringify(result.conflicts)}`)
  return result.position
}

/** A value without the class of its bytes, which stores are free to choose. */
export function plain(value: StoredValue | undefined): object | undefined {
  return value && { version: value.version, contentType: value.contentType, body: [...value.body] }
}

/** The error that an action ends with, whether it throws or rejects; undefined if it succeeds. */
export async function errorOf(action: () => unknown): Promise<Error | undefined> {
  try {
    await action()
    return undefined
  } catch (error) {
    return error as Error
  }
}

export async function codeOf(action: () => unknown): Promise<string | undefined> {
  const error = await errorOf(action)
  return error && ((error as { code?: string }).code ?? error.name)
}

/** Waits until all indexes of a bucket are built. */
export async function ready({ kit }: ConformanceOptions, store: Store, bucket: Key): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    if ((await store.indexes(bucket)).every(({ isReady }) => isReady)) return
    await kit.nextTurn()
  }
  throw new Error(`The indexes of ${bucket} were not built in ${TURNS_MAX} turns.`)
}

const TURNS_MAX = 100_000
