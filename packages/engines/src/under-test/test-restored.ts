/**
 * What must hold for each store that was restored from a backup by the engine's own tool: sessions notice, and no position is
 * given again.
 */
import type { LogPlace, Store } from '@freshet/core/store'
import { expect } from 'vitest'
import { put } from './commits.js'

export interface Restorable {
  open(recalled?: LogPlace): Promise<Store>
  backUp(): Promise<void> | void
  /** No server has the store open. */
  restore(): Promise<void> | void
}

/** Returns the place that an earlier process knew, and the restored store. */
export async function restoreUnnoticed({
  open,
  backUp,
  restore,
}: Restorable): Promise<{ lost: LogPlace; store: Store }> {
  const before = await open()
  const kept = await put(before, 'a/b/1')
  await backUp()
  let position = kept
  for (let i = 0; i < 4; i++) position = await put(before, 'a/b/1')
  const lost = { log: before.log, position }
  await before.close()
  await restore()
  const store = await open()
  expect((await store.get('a/b/1'))?.version).toBe(kept)
  return { lost, store }
}

export async function expectAnotherLog(store: Store, lost: LogPlace): Promise<void> {
  expect(store.log).not.toBe(lost.log)
  expect(await store.trimmedTo()).toBeGreaterThan(lost.position)
  await expect((async () => store.changes(lost.position))()).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
  expect(await put(store, 'a/b/1')).toBeGreaterThan(lost.position)
}
