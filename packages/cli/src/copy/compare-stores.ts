/** Finds the keys whose values differ between two stores, bucket by bucket, page by page. */
import { compareUtf8, type Key, type StoredEntry, type StoredValue } from '@freshet/core/store'
import type { StoreState } from '@freshet/engines/lmdb'
import { PageSize } from './page-size.js'

export interface ComparedStep {
  readonly bucket: Key
  readonly compared: number
  readonly differing: readonly Key[]
}

const PAGE_MAX = 500

export async function* differingKeys(a: StoreState, b: StoreState): AsyncGenerator<ComparedStep> {
  const lists = await Promise.all([a.buckets(), b.buckets()])
  const buckets = [...new Set(lists.flat().map(({ bucket }) => bucket))].sort()
  for (const bucket of buckets) {
    const [there, here] = await Promise.all([a.get(bucket), b.get(bucket)])
    yield { bucket, compared: 1, differing: isSame(there, here) ? [] : [bucket] }
    yield* differingIn(bucket, a, b)
  }
}

async function* differingIn(bucket: Key, a: StoreState, b: StoreState): AsyncGenerator<ComparedStep> {
  const page = new PageSize(PAGE_MAX)
  let after: string | undefined
  for (let isEnd = false; !isEnd; ) {
    const range = { limit: page.limit, ...(after === undefined ? {} : { after }) }
    const [pageA, pageB] = await Promise.all([a.scan(bucket, range), b.scan(bucket, range)])
    page.note(pageA.entries.length > pageB.entries.length ? pageA.entries : pageB.entries)
    // Compare up to the id that both pages reach.
    const ends = [pageA, pageB].flatMap(({ entries, next }) => (next === undefined ? [] : [entries.at(-1)!.id]))
    const through = ends.sort(compareUtf8)[0]
    const within = (entries: readonly StoredEntry[]) =>
      new Map(
        entries.filter(({ id }) => through === undefined || compareUtf8(id, through) <= 0).map(each => [each.id, each]),
      )
    const [inA, inB] = [within(pageA.entries), within(pageB.entries)]
    const ids = [...new Set([...inA.keys(), ...inB.keys()])]
    const differing = ids.filter(id => !isSame(inA.get(id), inB.get(id))).map(id => `${bucket}/${id}`)
    yield { bucket, compared: ids.length, differing }
    isEnd = through === undefined
    after = through
  }
}

export function isSame(
  a: Omit<StoredValue, 'version'> | undefined,
  b: Omit<StoredValue, 'version'> | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.contentType === b.contentType && Buffer.compare(a.body, b.body) === 0
}
