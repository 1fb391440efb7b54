/** A folder, or its file, that was restored from a copy while no server ran: the log becomes another one. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { COPIED_MEMORY, type Store } from '@freshet/core/store'
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

const filled = async () => {
  const store = await open()
  await put(store, 'a/b/1')
  await store.close()
  return store.log
}

test.each([
  ['the folder, renamed', 'rm -r "$1"; mv "$2" "$1"'],
  // The new file may be given the inode of the removed one.
  ['the folder in its place', 'rm -r "$1"; cp -a "$2" "$1"'],
  // Like rsync, which skips files with the same size and time, such as .place.
  ['all files by rsync', 'for f in data.mdb .reached; do cp -p "$2/$f" "$1/$f~"; mv "$1/$f~" "$1/$f"; done'],
  ['all files by rsync, in place', 'for f in data.mdb .reached; do cp -p "$2/$f" "$1/$f"; done'],
])('a copy of a closed store is detected, and that is remembered: %s', async (_, restore) => {
  const log = await filled()
  sh('cp -a "$1" "$2"')
  await filled()
  sh(restore)
  const store = await open()
  expect(store.log).not.toBe(log)
  expect(Buffer.from((await store.recall(COPIED_MEMORY))!).toString()).toBe(`${await store.position()}`)
  const copiedTo = await store.position()
  expect(await put(store, 'a/b/1')).toBeGreaterThan(copiedTo)
  await store.close()
  const again = await open()
  expect([again.log, (await again.recall(COPIED_MEMORY))?.toString()]).toEqual([store.log, `${copiedTo}`])
})

test('a store that is opened again, even under another name or after its process was killed, has the same log', async () => {
  const log = await filled()
  expect(await filled()).toBe(log)
  sh('mv "$1" "$2"; mv "$2" "$1"')
  expect(await filled()).toBe(log)
  // As after a kill: closing noted nothing.
  const store = await open()
  sh('cp "$1/.reached" "$2"')
  await put(store, 'a/b/2')
  await store.close()
  sh('cp "$2" "$1/.reached"')
  const again = await open()
  expect([again.log, await again.recall(COPIED_MEMORY)]).toEqual([log, undefined])
})

test('a change of owner or mode does not count as a copy', async () => {
  await filled()
  sh('chown -R "$(id -u)" "$1"; chmod -R go= "$1"')
  expect(await (await open()).recall(COPIED_MEMORY)).toBeUndefined()
})
