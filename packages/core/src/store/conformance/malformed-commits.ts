/** Commits that no program should make: each is a TypeError for its caller, and does not affect other callers. */
import type { Commit, Store } from '../store.js'
import { type ConformanceOptions, codeOf, put, testWith, write } from './kit.js'

const OWN = { kind: 'own', client: 'client-number-one', sequence: 1, settledTo: 0, madeMs: 0 }
const FOREIGN = { kind: 'foreign', id: 'a key' }
const KEYS = [undefined, null, 7, '', {}]
const VERSIONS = [undefined, null, '1', -1, 1.5, Number.NaN]
const WRITES = [put('a/b/c', 1)]

export function testMalformedCommits(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(
    options,
    'a malformed commit is a TypeError for its caller, and the store keeps serving others',
    async under => {
      const { store, peer = store, reopen } = under
      for (const way of [store, peer]) {
        const before = await store.position()
        // All at once, so that they would share a flush.
        const wrong = malformed().map(async commit => ({
          commit,
          code: await codeOf(() => way.commit(commit as Commit)),
        }))
        const right = write(way, put('a/b/right', 1))
        for (const { commit, code } of await Promise.all(wrong)) {
          expect(`${code} ${JSON.stringify(commit)}`).toBe(`TypeError ${JSON.stringify(commit)}`)
        }
        expect(await right).toBeGreaterThan(before)
        expect(await store.get('a/b/c')).toBe(undefined)
        expect(await write(way, put('a/b/right', 2))).toBeGreaterThan(before)
      }
      if (reopen) await checkWhole(await reopen())
    },
  )

  async function checkWhole(store: Store): Promise<void> {
    expect([...(await store.get('a/b/right'))!.body]).toEqual([2])
    expect(await store.operationCounts()).toMatchObject({ clients: 0, foreign: 0 })
  }
}

function malformed(): readonly unknown[] {
  const lists = [
    ...KEYS.map(bucket => ({ bucket, version: 0 })),
    ...VERSIONS.map(version => ({ bucket: 'a/b', version })),
    ...['from', 'to', 'after', 'prefix', 'through'].map(bound => ({ bucket: 'a/b', version: 0, [bound]: 7 })),
    ...['a/b?x=[1]', [7], null].map(tags => ({ bucket: 'a/b', version: 0, tags })),
  ]
  return [
    undefined,
    {},
    { writes: null },
    ...[null, 7, {}, [undefined]].flatMap(all => [
      { reads: all, writes: WRITES },
      { lists: all, writes: WRITES },
      { adds: all, writes: WRITES },
      { writes: all },
    ]),
    ...KEYS.flatMap(key => [
      { reads: [{ key, version: 0 }], writes: WRITES },
      { adds: [{ key, by: 1, decimals: 0 }], writes: WRITES },
      { writes: [{ key, delete: true }] },
      { writes: [{ ...WRITES[0], key }] },
      { lease: { keys: [key] }, writes: WRITES },
    ]),
    ...VERSIONS.map(version => ({ reads: [{ key: 'a/b/c', version }], writes: WRITES })),
    ...lists.map(list => ({ lists: [list], writes: WRITES })),
    ...[undefined, null, 'text', [1], {}].map(body => ({ writes: [{ ...WRITES[0], body }] })),
    ...[undefined, null, 7].map(contentType => ({ writes: [{ ...WRITES[0], contentType }] })),
    { writes: [{ key: 'a/b/c', delete: false }] },
    ...['by', 'decimals', 'min', 'max'].map(name => ({
      ...{ adds: [{ key: 'a/b/n', by: 1, decimals: 0, [name]: 1.5 }], writes: WRITES },
    })),
    ...operations().map(operation => ({ operation, writes: WRITES })),
    ...[null, 7, {}, { keys: [], id: 7 }, { keys: [], ms: Number.NaN }, { keys: [], ms: '5' }].map(lease => ({
      ...{ lease, writes: WRITES },
    })),
  ]
}

function operations(): readonly unknown[] {
  const rest = { fingerprint: 'print', note: '' }
  return [
    ...[null, 7, 'a key', {}, rest],
    ...[null, 'a key', {}, { kind: 'other' }, { ...FOREIGN, kind: undefined }].map(id => ({ ...rest, id })),
    ...[undefined, null, 7, '', 'x'.repeat(256)].map(id => ({ ...rest, id: { ...FOREIGN, id } })),
    ...[undefined, null, 7, '', 'x'.repeat(256)].map(client => ({ ...rest, id: { ...OWN, client } })),
    ...['sequence', 'settledTo'].flatMap(name => VERSIONS.map(value => ({ ...rest, id: { ...OWN, [name]: value } }))),
    ...[undefined, null, '1', Number.NaN].map(madeMs => ({ ...rest, id: { ...OWN, madeMs } })),
    { ...rest, id: { ...OWN, sequence: 0 } },
    { ...rest, id: { ...OWN, settledTo: 1 } },
    ...[undefined, null, 7].map(fingerprint => ({ ...rest, id: FOREIGN, fingerprint })),
    ...[null, 7].map(note => ({ ...rest, id: OWN, note })),
  ]
}
