import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openEmbeddedStore } from '../embedded-store.js'
import { type Below, DamagedFiles, type Outcome } from '../under-test/damaged-files.js'
import { temporaryFolder } from '../under-test/temporary-folder.js'
import { examineFile } from './examine-file.js'

const FLIPS = Number(process.env.FRESHET_FLIPS ?? 60)

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())

/** Park and Miller's generator. */
function seeded(seed: number): Below {
  let state = seed
  return limit => {
    state = (state * 48_271) % 0x7fff_ffff
    return Math.floor((state / 0x7fff_ffff) * limit)
  }
}

test('a flipped byte is harmless, or refused, or reported; never served', async () => {
  const below = seeded(42)
  const files = await DamagedFiles.make(folder.path, below, 400)
  expect(await files.judge([])).toEqual({ outcome: 'harmless' })
  const outcomes = new Map<Outcome, number>()
  for (let i = 0; i < FLIPS; i++) {
    const flip = files.randomFlip(below)
    const { outcome, what } = await files.judge([flip])
    expect(outcome, `${what} after ${JSON.stringify(flip)}`).not.toBe('wrong')
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  expect(Object.fromEntries(outcomes)).toMatchObject({ refused: expect.any(Number), reported: expect.any(Number) })
})

function put(key: string, text: string) {
  return { key, contentType: 'text/plain', body: Buffer.from(text) }
}

/** In every page that contains it, including pages that are no longer in use. */
function replaceInFile(text: string, other: string): void {
  const file = join(folder.path, 'data.mdb')
  const bytes = readFileSync(file)
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) bytes.write(other, at)
  writeFileSync(file, bytes)
}

test('a damaged object is named; all others can be read and written as before', async () => {
  const before = await openEmbeddedStore({ path: folder.path })
  const large = 'x'.repeat(100_000)
  await before.commit({ writes: [put('a/b/1', 'the first'), put('a/b/2', 'the second'), put('a/b/3', large)] })
  await before.close()
  replaceInFile('the second', 'the sXcond')
  const store = await openEmbeddedStore({ path: folder.path })
  expect(store.engine.damagedKeys).toEqual(['a/b/2'])
  const damaged = { code: 'STORE_DAMAGED', details: { table: 'values', key: 'a/b/2' } }
  expect(() => store.get('a/b/2')).toThrow(expect.objectContaining(damaged))
  await expect(store.scan('a/b')).rejects.toMatchObject(damaged)
  expect(Buffer.from((await store.get('a/b/3'))!.body).toString()).toBe(large)
  const outcomes = await Promise.allSettled([
    store.commit({ writes: [put('a/b/1', 'again')] }),
    store.commit({ writes: [put('a/b/4', 'four')], reads: [{ key: 'a/b/2', version: 0 }] }),
    store.commit({ writes: [put('a/b/5', 'five')] }),
  ])
  expect(outcomes).toMatchObject([
    { status: 'fulfilled', value: { committed: true } },
    { status: 'rejected', reason: damaged },
    { status: 'fulfilled', value: { committed: true } },
  ])
  // An object that is written over it is whole.
  await store.commit({ writes: [put('a/b/2', 'mended')] })
  expect((await store.scan('a/b')).entries.map(({ id }) => id)).toEqual(['1', '2', '3', '5'])
  await store.close()
  expect(await examineFile({ path: folder.path })).toMatchObject({ hasChecksums: true, damages: [] })
})

test('a whole record in the place of another is damage', async () => {
  const store = await openEmbeddedStore({ path: folder.path })
  await store.commit({ writes: [put('a/b/1', 'the same')] })
  await store.commit({ writes: [put('a/b/2', 'the same')] })
  await store.close()
  replaceInFile('a/b/1', 'a/b/0')
  expect((await examineFile({ path: folder.path }))!.damages).toContainEqual(
    expect.objectContaining({ key: 'a/b/0', what: expect.stringContaining('a/b/0') }),
  )
})

test('a table whose name is damaged is reported as missing, not created again', async () => {
  const store = await openEmbeddedStore({ path: folder.path })
  await store.commit({ writes: [put('a/b/1', 'one')] })
  await store.close()
  replaceInFile('values\0', 'valuds\0')
  await expect(openEmbeddedStore({ path: folder.path })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
})
