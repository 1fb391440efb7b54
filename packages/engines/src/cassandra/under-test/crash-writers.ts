/** Writers that go on while nodes are killed and lines are cut, and the check of what must be there in the end. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Commit, CommitResult, Position, Store } from '@freshet/core/store'
import type { OwnOperationId } from '@freshet/protocol'
import { expect } from 'vitest'
import { eventually } from '../../under-test/eventually.js'

export function put(key: string, text: string): Commit['writes'][number] {
  return { key, contentType: 'text/plain', body: Buffer.from(text) }
}

export async function textOf(store: Store, key: string): Promise<string | undefined> {
  const value = await store.get(key)
  return value && Buffer.from(value.body).toString()
}

export function positionOf(result: CommitResult): Position {
  if (!result.committed) throw new Error(`It was not committed: ${JSON.stringify(result)}`)
  return result.position
}

/** A node takes seconds to start. Without pauses the load would take the processor time that it needs to start. */
const WRITE_PAUSE_MS = 20
const WATCH_PAUSE_MS = 5

export interface Written {
  readonly done: { readonly id: string; readonly position: Position }[]
  readonly added: number
}

/** What writers share: how many commits were acknowledged, and when to stop. */
export class Progress {
  acknowledged = 0
  isOver = false

  /** Until `commits` more commits are acknowledged. Counting what is in the store instead would keep the nodes busy. */
  async goOn(commits: number, when: string): Promise<void> {
    const target = this.acknowledged + commits
    await eventually(`commits go on ${when}`, () => this.acknowledged > target)
  }
}

/** Writes until `progress.isOver`. Each round writes two values, and adds 1 to a counter under an operation's id. */
export async function writeOn(store: Store, writer: number, progress: Progress): Promise<Written> {
  const done: Written['done'] = []
  let added = 0
  for (let sequence = 1; !progress.isOver; sequence++) {
    const id = `${writer}-${sequence}`
    // The commit has no id, and yet its outcome is never unknown: the log shows it.
    const result = await store.commit({ writes: [put(`crash/a/${id}`, id), put(`crash/b/${id}`, id)] })
    done.push({ id, position: positionOf(result) })
    progress.acknowledged++
    const client = `crash-test-writer-${writer}`
    const own: OwnOperationId = { kind: 'own', client, sequence, settledTo: sequence - 1, madeMs: store.nowMs() }
    const operation = { id: own, fingerprint: id }
    positionOf(await store.commit({ writes: [], adds: [{ key: 'crash/n/sum', by: 1, decimals: 0 }], operation }))
    added++
    await delay(WRITE_PAUSE_MS)
  }
  return { done, added }
}

/** Another reader. It reads the sum, which must never go back: the store shows nothing that is not on disk yet. */
export async function watch(store: Store, progress: Progress): Promise<number> {
  let highest = 0
  while (!progress.isOver) {
    const sum = Number((await textOf(store, 'crash/n/sum')) ?? 0)
    expect(sum).toBeGreaterThanOrEqual(highest)
    highest = sum
    await delay(WATCH_PAUSE_MS)
  }
  return highest
}

/** Each acknowledged commit is there once, at the position that was acknowledged; and nothing else is there. */
export async function expectExact(store: Store, begin: Position, written: readonly Written[]): Promise<void> {
  const done = written.flatMap(each => each.done)
  expect(new Set(done.map(({ position }) => position)).size).toBe(done.length)
  const pages = await Promise.all(['crash/a', 'crash/b'].map(bucket => store.scan(bucket, { limit: 100_000 })))
  const acknowledged = new Map(done.map(({ id, position }) => [id, position]))
  for (const { entries } of pages) {
    expect(new Map(entries.map(({ id, version }) => [id, version]))).toEqual(acknowledged)
  }
  expect(await textOf(store, 'crash/n/sum')).toBe(`${written.reduce((sum, { added }) => sum + added, 0)}`)
  const positions = (await store.changes(begin, 1_000_000)).map(({ position }) => position)
  expect(positions).toEqual([...new Set(positions)].sort((x, y) => x - y))
  for (const { position } of done) expect(positions).toContain(position)
}
