/**
 * Opens a store whose indexes are being built, changes objects without pause, and waits to be killed. The first time it
 * writes the objects and declares the indexes. Reports the progress of the first index when the store is open, and whenever
 * it changes. Arguments: the folder, the number of objects.
 */
import { setImmediate } from 'node:timers/promises'
import type { Store, Write } from '@freshet/core/store'
import { openEmbeddedStore } from '../index.js'

export const BUCKET = 'crash/objects'
export const INDEXES: readonly { readonly name: string; readonly fields: readonly string[] }[] = [
  { name: 'by-a', fields: ['a'] },
  { name: 'by-b-a', fields: ['b', 'a'] },
]

const [path, count] = process.argv.slice(2) as [string | undefined, string]
if (path !== undefined && process.send) await run(path, Number(count))

async function run(folder: string, objects: number): Promise<void> {
  const store = await openEmbeddedStore({ path: folder })
  if ((await store.indexes(BUCKET)).length === 0) {
    await store.commit({ writes: Array.from({ length: objects }, (_, i) => toWrite(i, i)) })
    await store.commit({
      writes: [{ key: BUCKET, contentType: 'application/json', body: Buffer.from('{}'), indexes: INDEXES }],
    })
  }
  await Promise.all([report(store), change(store, objects)])
}

async function report(store: Store): Promise<void> {
  for (let last = -1; ; ) {
    const [index] = await store.indexes(BUCKET)
    if (index!.done !== last) process.send?.({ done: index!.done, isReady: index!.isReady })
    last = index!.done
    await setImmediate()
  }
}

async function change(store: Store, objects: number): Promise<void> {
  for (;;) {
    const id = Math.floor(Math.random() * objects * 1.1)
    const key = `${BUCKET}/${id}`
    await store.commit({ writes: [Math.random() < 0.3 ? { key, delete: true } : toWrite(id, Date.now())] })
  }
}

function toWrite(id: number, seed: number): Write {
  const body = Buffer.from(JSON.stringify({ a: seed % 7, b: seed % 3 === 0 ? `text ${seed % 5}` : null }))
  return { key: `${BUCKET}/${id}`, contentType: 'application/json', body }
}
