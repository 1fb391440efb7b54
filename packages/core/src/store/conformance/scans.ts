import type { ScanRange, Store } from '../store.js'
import { type ConformanceOptions, errorOf, plain, put, remove, testWith, write } from './kit.js'

/** Ids that UTF-8, UTF-16 and a human reader would sort differently. */
const IDS = ['!', '0', '1', '10', '2', 'A', 'a', 'a!', 'aa', 'aé', 'b', 'é', 'ﬀ', '\uffee', '😀', '😀a', '🀀', '~']

export function testScans(options: ConformanceOptions): void {
  testOrder(options)
  testPages(options)
  testBuckets(options)
}

function testOrder(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'ids come in the order of their code points, in whatever order they were written', async under => {
    await fill(under.store, [...IDS].reverse())
    for (const store of [under.store, under.peer ?? under.store]) {
      expect(await idsOf(store, {})).toEqual(inOrder(IDS))
    }
    // UTF-16 gets this wrong: U+FFEE comes before U+1F600.
    expect(inOrder(['😀', '\uffee'])).toEqual(['\uffee', '😀'])
  })

  testWith(options, 'bounds are inclusive or exclusive as they say, and are intersected', async under => {
    await fill(under.store, IDS)
    const bounds = [undefined, '', '0', 'a', 'aa', 'b\u0001', '\uffee', '😀', '\u{10ffff}']
    for (const from of bounds) {
      for (const to of bounds) {
        for (const after of bounds) {
          const range = {
            ...(from !== undefined && { from }),
            ...(to !== undefined && { to }),
            ...(after !== undefined && { after }),
          }
          expect(await idsOf(under.store, range), JSON.stringify(range)).toEqual(expected(IDS, range))
        }
      }
    }
  })

  testWith(options, 'a prefix is matched by characters, alone and with bounds', async ({ store }) => {
    await fill(store, IDS)
    for (const prefix of ['', 'a', '1', 'é', '😀', 'x', 'aa', 'a'.repeat(3000)]) {
      for (const more of [{}, { from: 'aa' }, { to: 'aa' }, { after: 'a' }, { from: '0', to: '\uffee' }]) {
        const range = { prefix, ...more }
        expect(await idsOf(store, range), JSON.stringify(range)).toEqual(expected(IDS, range))
      }
    }
    const far = 'z'.repeat(3000)
    expect(await idsOf(store, { to: far })).toEqual(expected(IDS, { to: far }))
    expect(await idsOf(store, { from: far })).toEqual(expected(IDS, { from: far }))
    expect(await idsOf(store, { after: far })).toEqual(expected(IDS, { after: far }))
  })
}

function testPages(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'pages, one after the other, hold everything once', async under => {
    const ids = Array.from({ length: 1234 }, (_, i) => `n${i}`)
    await fill(under.store, ids)
    for (const limit of [1, 7, 617, 1233, 1234, 1235, 5000]) {
      const found: string[] = []
      let after: string | undefined
      do {
        const page = await under.store.scan('a/b', { limit, ...(after !== undefined && { after }) })
        if (page.next !== undefined) expect(page.entries.length).toBe(limit)
        found.push(...page.entries.map(({ id }) => id))
        after = page.next
        if (limit === 1 && found.length === 20) break
      } while (after !== undefined)
      expect(found).toEqual(inOrder(ids).slice(0, limit === 1 ? 20 : ids.length))
    }
    const first = await under.store.scan('a/b')
    expect(first.entries.length).toBe(100)
    expect(first.next).toBe(first.entries[99]?.id)
  })

  testWith(options, 'the last page has no next, even when it is full', async ({ store }) => {
    await fill(store, ['1', '2', '3'])
    expect((await store.scan('a/b', { limit: 3 })).next).toBe(undefined)
    expect((await store.scan('a/b', { limit: 2 })).next).toBe('2')
    expect((await store.scan('a/b', { limit: 2, to: '3' })).next).toBe(undefined)
    expect((await store.scan('a/b', { limit: 1, prefix: '1' })).next).toBe(undefined)
  })

  testWith(options, 'entries that the filter rejects do not count towards the limit', async ({ store }) => {
    const ids = Array.from({ length: 1100 }, (_, i) => String(10_000 + i))
    await fill(store, ids)
    const filter = ({ id }: { id: string }) => id.endsWith('7')
    const first = await store.scan('a/b', { limit: 30, filter })
    expect(first.entries.length).toBe(30)
    const rest = await store.scan('a/b', { limit: 1000, filter, after: first.next! })
    const found = [...first.entries, ...rest.entries].map(({ id }) => id)
    expect(found).toEqual(ids.filter(id => id.endsWith('7')))
    expect((await store.scan('a/b', { filter: () => false })).entries).toEqual([])
    const sums = await store.scan('a/b', { filter: ({ body, version }) => body.length === 1 && version > 0 })
    expect(sums.entries.length).toBe(100)
    const failure = await errorOf(() => store.scan('a/b', { filter: () => failHere() }))
    expect(failure?.message).toBe('here')
  })

  testWith(
    options,
    'an entry is what get returns, with its id; a limit is a whole number of at least 1',
    async ({ store }) => {
      await fill(store, ['1'])
      const { entries } = await store.scan('a/b')
      const { id, ...value } = entries[0]!
      expect(id).toBe('1')
      expect(plain(value)).toEqual(plain(await store.get('a/b/1')))
      for (const limit of [0, -1, 1.5, Number.NaN]) {
        expect((await errorOf(() => store.scan('a/b', { limit }))) instanceof TypeError).toBe(true)
      }
    },
  )
}

function failHere(): boolean {
  throw new Error('here')
}

function testBuckets(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'a scan stays within its bucket', async ({ store }) => {
    for (const bucket of ['a/b', 'a/b-c', 'a/bb', 'a/b0', 'a/c', 'aa/b', 'b/b'])
      await write(store, put(`${bucket}/1`, 1))
    expect((await store.scan('a/b')).entries.map(({ id }) => id)).toEqual(['1'])
    expect((await store.scan('a/b', { from: '0' })).entries.length).toBe(1)
    expect((await store.scan('a/none')).entries).toEqual([])
  })

  testWith(options, "a page has the position of its bucket's last change, whatever the change", async under => {
    const { store } = under
    expect((await store.scan('a/b')).version).toBe(0)
    const first = await write(store, put('a/b/1', 1))
    const other = await write(store, put('a/c/1', 1))
    expect(await store.scan('a/b', { from: 'z' })).toMatchObject({ version: first, position: other })
    const deleted = await write(store, remove('a/b/1'))
    for (const way of [store, under.peer ?? store]) {
      expect(await way.scan('a/b')).toMatchObject({ entries: [], version: deleted, position: deleted })
      expect(await way.buckets()).toEqual([
        { bucket: 'a/b', version: deleted },
        { bucket: 'a/c', version: other },
      ])
    }
  })
}

async function fill(store: Store, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id, i) => write(store, put(`a/b/${id}`, i))))
}

async function idsOf(store: Store, range: ScanRange): Promise<string[]> {
  const { entries } = await store.scan('a/b', { limit: 1000, ...range })
  return entries.map(({ id }) => id)
}

function expected(ids: readonly string[], { from, to, after, prefix }: ScanRange): string[] {
  return inOrder(ids).filter(
    id =>
      (from === undefined || compare(id, from) >= 0) &&
      (to === undefined || compare(id, to) < 0) &&
      (after === undefined || compare(id, after) > 0) &&
      (prefix === undefined || id.startsWith(prefix)),
  )
}

function inOrder(ids: readonly string[]): string[] {
  return [...ids].sort(compare)
}

/** By code points, one by one: slow, but obviously right. */
function compare(a: string, b: string): number {
  const pointsA = [...a].map(character => character.codePointAt(0)!)
  const pointsB = [...b].map(character => character.codePointAt(0)!)
  const differs = pointsA.findIndex((point, i) => point !== pointsB[i])
  if (differs === -1) return pointsA.length - pointsB.length
  return differs < pointsB.length ? pointsA[differs]! - pointsB[differs]! : 1
}
