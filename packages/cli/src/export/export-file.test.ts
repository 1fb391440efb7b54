import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exportToFile } from './export-file.js'
import { sourceOfStore } from './export-source.js'

/** Enough for more than two pages. */
const OBJECTS = 1200
const FORMATS = ['ndjson', 'csv'] as const
type Format = (typeof FORMATS)[number]

let folder: string
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-export-'))
  store = createMemoryStore()
  for (const bucket of ['shop/a', 'shop/b']) await fill(store, bucket, bucket)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function fill(to: Store, bucket: string, text: string): Promise<void> {
  const contentType = 'application/json'
  const objects = Array.from({ length: OBJECTS }, (_, i) => ({
    key: `${bucket}/${i}`,
    contentType,
    body: Buffer.from(JSON.stringify({ text })),
  }))
  await to.commit({ writes: [{ key: bucket, contentType, body: Buffer.from('{"kind":"object"}') }, ...objects] })
}

interface Asked {
  readonly format: Format
  readonly from?: Store
  readonly buckets?: string
  readonly isOneState?: boolean
  readonly stopsAfter?: number
}

/** Runs an export. The text is undefined if it was stopped. */
async function run({ format, from = store, buckets = 'shop/a', isOneState = true, stopsAfter }: Asked) {
  const source = await sourceOfStore(from, isOneState)
  let pages = 0
  const counted = {
    ...source,
    page: (...args: Parameters<typeof source.page>) => source.page(...args).finally(() => pages++),
  }
  const stopping = new AbortController()
  const onProgress = (objects: number) => void (stopsAfter !== undefined && objects >= stopsAfter && stopping.abort())
  const out = join(folder, `out.${format}`)
  const options = { source: counted, buckets, onProgress, signal: stopping.signal }
  const exported = await exportToFile(out, format, options).catch(error => {
    if (!stopping.signal.aborted) throw error
  })
  return { pages, objects: exported?.objects, text: exported && readFileSync(out, 'utf8') }
}

/** An export in one go, to compare with. */
async function whole(asked: Asked): Promise<string> {
  const { text } = await run(asked)
  for (const name of readdirSync(folder)) rmSync(join(folder, name))
  return text!
}

test.each(FORMATS)('a stopped %s export continues, and leaves nothing else behind', async format => {
  const expected = await whole({ format })
  const all = (await run({ format })).pages
  rmSync(join(folder, `out.${format}`))
  await run({ format, stopsAfter: 1000 })
  const { pages, objects, text } = await run({ format })
  expect([text, objects]).toEqual([expected, OBJECTS])
  expect(pages).toBeLessThan(all - 1)
  expect(readdirSync(folder).filter(name => name.includes('part'))).toEqual([])
})

test.each(FORMATS)('a %s export is not continued from another store or for another bucket', async format => {
  const other = createMemoryStore()
  await fill(other, 'shop/a', 'other')
  for (const asked of [
    { format, from: other },
    { format, buckets: 'shop/b' },
    { format, from: other, isOneState: false },
  ]) {
    const expected = await whole(asked)
    await run({ format, stopsAfter: 500 })
    expect((await run(asked)).text).toBe(expected)
    for (const name of readdirSync(folder)) rmSync(join(folder, name))
  }
})

test.each(FORMATS)('a %s export of one state is not continued in another', async format => {
  await run({ format, stopsAfter: 500 })
  await fill(store, 'shop/a', 'changed')
  const { text } = await run({ format })
  expect(text).not.toContain('"text":"shop/a"')
  expect(text!.split('changed').length - 1).toBe(OBJECTS)
})

test('an export begun in another format starts over', async () => {
  const expected = await whole({ format: 'ndjson' })
  await run({ format: 'csv', stopsAfter: 500 })
  const source = await sourceOfStore(store, true)
  const options = { source, buckets: 'shop/a', onProgress: () => undefined, signal: new AbortController().signal }
  await exportToFile(join(folder, 'out.csv'), 'ndjson', options)
  expect(readFileSync(join(folder, 'out.csv'), 'utf8')).toBe(expected)
})
