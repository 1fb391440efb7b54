/** A folder, or its file, that was copied back while no server ran: the log is another one. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Store } from '@freshet/core/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import { expectAnotherLog, restoreUnnoticed } from '../under-test/test-restored.js'
import { openEmbeddedStore } from './embedded-store.js'
import { type TemporaryFolder, temporaryFolder } from './under-test/temporary-folder.js'

let folder: TemporaryFolder
let data: string
let copy: string
const stores: Store[] = []

beforeEach(async () => {
  folder = await temporaryFolder()
  data = join(folder.path, 'data')
  copy = join(folder.path, 'copy')
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  await folder.remove()
})

const open = async () => {
  const store = await openEmbeddedStore({ path: data })
  stores.push(store)
  return store
}
const sh = (script: string) => void execFileSync('sh', ['-ec', script, '-', data, copy])

test.each([
  ['the folder in its place', 'cp -a "$1" "$2"; rm "$2/writer.lock"', 'rm -r "$1"; cp -a "$2" "$1"'],
  ['the folder, renamed', 'cp -a "$1" "$2"; rm "$2/writer.lock"', 'rm -r "$1"; mv "$2" "$1"'],
  ['all files over themselves', 'cp -a "$1" "$2"; rm "$2/writer.lock"', 'cp -a "$2/." "$1/"'],
  ['data.mdb over itself', 'cp "$1/data.mdb" "$2"', 'cp "$2" "$1/data.mdb"'],
  ['data.mdb, renamed', 'cp -p "$1/data.mdb" "$2"', 'mv "$2" "$1/data.mdb"'],
  ['data.mdb into an empty folder', 'cp -p "$1/data.mdb" "$2"', 'rm -r "$1"; mkdir "$1"; mv "$2" "$1/data.mdb"'],
])('%s', async (_, backUp, restore) => {
  const { lost, store } = await restoreUnnoticed({ open, backUp: () => sh(backUp), restore: () => sh(restore) })
  await expectAnotherLog(store, lost)
})

test('a store that is opened again, also under another name, has the same log', async () => {
  const store = await open()
  const { log } = store
  await put(store, 'a/b/1')
  await store.close()
  const again = await open()
  expect(again.log).toBe(log)
  await again.close()
  sh('mv "$1" "$2"; mv "$2" "$1"')
  expect((await open()).log).toBe(log)
})
