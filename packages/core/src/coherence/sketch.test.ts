import { decodeBloom } from '@freshet/bloom'
import { describe, expect, it } from 'vitest'
import type { LogEntry } from '../store/index.js'
import { unpackChanges } from './packed-changes.js'
import { createSketch, LISTED_CHANGES_MAX, type Sketch } from './sketch.js'

const SEED = 7n
const WINDOW_MS = 100_000

function entry(position: number, timeMs: number, ...ids: (number | string)[]): LogEntry {
  return { position, timeMs, keys: ids.map(id => `shop/products/${id}`), tags: [] }
}

function create(windowMs = WINDOW_MS, from = 0): Sketch {
  return createSketch({ seed: SEED, from, windowMs })
}

const positionsIn = (from: number, changes: string) =>
  unpackChanges(from, changes).changes.map(({ position }) => position)

const changesOf = (sketch: Sketch, after?: number) => {
  const { tail } = sketch.head(after)
  return 'changes' in tail ? positionsIn(tail.from, tail.changes) : 'filter'
}

describe('a head', () => {
  it('of an empty log covers nothing and is empty', () => {
    expect(create().head()).toMatchObject({ position: 0, from: 0, segments: [], tail: { from: 0, to: 0 } })
    expect(changesOf(create())).toEqual([])
  })

  it('lists objects and their buckets, each where it changed last', () => {
    const sketch = create()
    sketch.append([entry(3, 0, 1, 2), entry(5, 0, 1)])
    expect(changesOf(sketch)).toEqual([3, 5, 5])
  })

  it('lists the tags that a change carries, and the settings of a bucket that was itself written', () => {
    const sketch = create()
    const tags = ['shop/products?category=["books"]', 'shop/products?category=["tea"]']
    sketch.append([
      { ...entry(1, 0, 1), tags },
      { position: 2, timeMs: 0, keys: ['shop/products'], tags: [] },
    ])
    const filter = decodeBloom(sketch.folded())
    for (const tag of tags) expect(filter.has(`/db/${tag}`)).toBe(true)
    expect(filter.has('/db/shop/products?settings')).toBe(true)
    // The object and two tags; the bucket and its settings.
    expect(changesOf(sketch)).toEqual([1, 1, 1, 2, 2])
  })

  it('has only what is new for a recent reader, even after the slot was closed', () => {
    const sketch = create()
    sketch.append([entry(1, 0, 1), entry(2, 100, 2)])
    sketch.advance(5000, WINDOW_MS)
    expect(sketch.head(1)).toMatchObject({ segments: [], tail: { from: 1, to: 2 } })
    expect(changesOf(sketch, 1)).toEqual([2, 2])
    expect(changesOf(sketch, 2)).toEqual([])
  })

  it('has segments for a reader that missed too much to list, and a filter for a long tail', () => {
    const sketch = create()
    sketch.append([entry(1, 0, 1)])
    const many = Array.from({ length: LISTED_CHANGES_MAX }, (_, i) => entry(i + 2, 2000, i))
    sketch.append(many)
    expect(changesOf(sketch)).toBe('filter')
    expect(sketch.head().segments).toEqual([{ from: 0, to: 1 }])
    expect(sketch.head(1).segments).toEqual([])
    expect(changesOf(sketch, 1)).toBe('filter')
    expect(changesOf(sketch, LISTED_CHANGES_MAX)).toEqual([LISTED_CHANGES_MAX + 1, LISTED_CHANGES_MAX + 1])
  })

  it('is whole for a reader that knows too little, and harmless for one that claims to know more than there is', () => {
    const sketch = create(1000)
    sketch.append([entry(1, 0, 1), entry(2, 5000, 2)])
    sketch.advance(5000, 1000)
    expect(sketch.from).toBe(1)
    expect(sketch.head(0)).toMatchObject({ from: 1, tail: { from: 1, to: 2 } })
    expect(sketch.head(9)).toMatchObject({ position: 2, tail: { from: 9, to: 9 } })
    expect(changesOf(sketch, 9)).toEqual([])
  })

  it('covers commits that changed nothing', () => {
    const sketch = create()
    sketch.append([entry(4, 0)])
    expect(sketch.head()).toMatchObject({ position: 4, from: 0, tail: { from: 0, to: 4 } })
    expect(changesOf(sketch)).toEqual([])
    sketch.append([entry(5, 10, 1), entry(9, 20)])
    sketch.advance(1_000_000, WINDOW_MS)
    expect(sketch.head()).toMatchObject({ position: 9, from: 5, segments: [], tail: { from: 5, to: 9 } })
    sketch.append([entry(12, 1_000_001)])
    expect(sketch.head(4)).toMatchObject({ position: 12, from: 5, tail: { from: 5, to: 12 } })
    expect(changesOf(sketch, 4)).toEqual([])
  })
})

describe('time', () => {
  it('drops a change when it is older than the window, not before', () => {
    const sketch = create()
    sketch.append([entry(1, 50, 1)])
    sketch.advance(50 + WINDOW_MS, WINDOW_MS)
    expect(sketch.from).toBe(0)
    sketch.advance(51 + WINDOW_MS, WINDOW_MS)
    expect(sketch.from).toBe(1)
  })

  it('that stands still drops nothing, however often it is read', () => {
    const sketch = create()
    sketch.append([entry(1, 50, 1)])
    for (let i = 0; i < 1000; i++) sketch.advance(2000, WINDOW_MS)
    expect(sketch.head()).toMatchObject({ from: 0, segments: [{ from: 0, to: 1 }] })
  })

  it('never brings back what a shorter window dropped: copies that could need it are dead', () => {
    const sketch = create()
    sketch.append([entry(1, 0, 1), entry(2, 60_000, 2)])
    sketch.advance(61_000, 1000)
    expect(sketch.from).toBe(1)
    sketch.advance(61_000, WINDOW_MS)
    expect(sketch.from).toBe(1)
  })
})

it('a commit that changed nothing does not move the window past younger states', () => {
  const sketch = create()
  sketch.append([entry(1, 0, 1), entry(2, 90_000), entry(3, 95_000, 3)])
  sketch.advance(WINDOW_MS + 1, WINDOW_MS)
  // A copy that was read at 50 000 is of position 1, and alive.
  expect(sketch.from).toBe(1)
})

describe('a segment', () => {
  it('has every path that changed in it, even if another server cut it differently', () => {
    const sketch = create()
    sketch.append([entry(1, 0, 1), entry(2, 1500, 2), entry(3, 3000, 3)])
    expect(decodeBloom(sketch.segment({ from: 0, to: 1 })!).has('/db/shop/products/1')).toBe(true)
    const odd = decodeBloom(sketch.segment({ from: 1, to: 3 })!)
    expect(odd.has('/db/shop/products/2') && odd.has('/db/shop/products/3')).toBe(true)
    expect(odd.has('/db/shop/products')).toBe(true)
  })

  it('is undefined if it reaches out of the window or beyond the known log', () => {
    const sketch = create()
    sketch.append([entry(1, 0, 1), entry(2, WINDOW_MS, 2)])
    sketch.advance(WINDOW_MS + 1, WINDOW_MS)
    expect(sketch.segment({ from: 0, to: 2 })).toBeUndefined()
    expect(sketch.segment({ from: 1, to: 3 })).toBeUndefined()
    expect(sketch.segment({ from: 2, to: 1 })).toBeUndefined()
    expect(sketch.segment({ from: 1, to: 2 })).toBeDefined()
  })

  it('is spelled as in URLs', () => {
    const sketch = create()
    sketch.append([entry(1, 0, 'a b&ü')])
    expect(decodeBloom(sketch.folded()).has('/db/shop/products/a%20b%26%C3%BC')).toBe(true)
  })
})

it('the folded filter has the whole window', () => {
  const sketch = create()
  sketch.append([entry(1, 0, 1), entry(2, 5000, 2)])
  const folded = decodeBloom(sketch.folded())
  for (const id of [1, 2]) expect(folded.has(`/db/shop/products/${id}`)).toBe(true)
})

it('the log must be appended in order', () => {
  const sketch = create()
  sketch.append([entry(2, 0, 1)])
  expect(() => sketch.append([entry(2, 0, 1)])).toThrow(RangeError)
})

it('changes are listed one by one as long as all later ones are known individually', () => {
  const sketch = create()
  for (let position = 1; position <= 3000; position++) sketch.append([entry(position, position * 100, position)])
  const listed = (after: number) => positionsIn(after, sketch.changesAfter(after)!)
  expect(sketch.changesAfter(0)).toBeUndefined()
  expect(listed(2995)).toEqual([2996, 2997, 2998, 2999, 3000, 3000])
  expect(sketch.changesAfter(2600, 100)).toBeUndefined()
  const oldest = Array.from({ length: 3000 }, (_, i) => i).find(after => sketch.changesAfter(after))!
  expect(oldest).toBeLessThan(2600)
  expect(listed(oldest)).toHaveLength(3000 - oldest + 1)
})

it('a rebuilt sketch does not claim to list changes that it never saw', () => {
  const sketch = create(WINDOW_MS, 100)
  sketch.append([entry(101, 0, 1)])
  expect(sketch.changesAfter(50)).toBeUndefined()
  expect(positionsIn(100, sketch.changesAfter(100)!)).toEqual([101, 101])
})

it('memory follows the window, not the age of the log', () => {
  const sketch = create()
  let most = 0
  for (let second = 0; second < 2000; second++) {
    sketch.append(Array.from({ length: 5 }, (_, i) => entry(second * 5 + i + 1, second * 1000, second * 5 + i)))
    sketch.advance(second * 1000, WINDOW_MS)
    most = Math.max(most, sketch.size().changes)
  }
  expect(most).toBeLessThan(7 * 100 * 1.3)
  expect(sketch.size().segments).toBeLessThan(40)
})

it('says how many bytes a new reader is sent, and how often its filters err together', () => {
  const sketch = create()
  const keys = Array.from({ length: 300 }, (_, i) => i)
  for (let second = 0; second < 40; second++) {
    sketch.append([entry(second + 1, second * 1000, ...keys.map(i => `${second}-${i}`))])
    sketch.advance(second * 1000, WINDOW_MS)
  }
  const head = sketch.head()
  const filters = head.segments.map(ref => sketch.segment(ref)!)
  const { bytes, falsePositiveRate } = sketch.cost()
  expect(bytes).toBe(JSON.stringify(head).length + filters.reduce((sum, { length }) => sum + length, 0))
  const asked = 200_000
  const view = filters.map(filter => decodeBloom(filter))
  let wrong = 0
  for (let i = 0; i < asked; i++) if (view.some(filter => filter.has(`never changed ${i}`))) wrong++
  expect(head.segments.length).toBeGreaterThan(3)
  // More than that of one filter, which is 0.001 at most.
  expect(wrong / asked).toBeGreaterThan(0.002)
  expect(falsePositiveRate / (wrong / asked)).toBeGreaterThan(0.8)
  expect(falsePositiveRate / (wrong / asked)).toBeLessThan(1.5)
  expect(create().cost().falsePositiveRate).toBe(0)
})

it('a rebuilt sketch covers the same changes as the lost one', () => {
  const entries = Array.from({ length: 500 }, (_, i) => entry(i + 1, i * 400, i % 50))
  const lost = create()
  for (const each of entries) {
    lost.append([each])
    lost.advance(each.timeMs, WINDOW_MS)
  }
  const rebuilt = create(WINDOW_MS, lost.from)
  rebuilt.append(entries.filter(each => each.position > lost.from))
  rebuilt.advance(499 * 400, WINDOW_MS)
  expect(rebuilt.head().segments).toEqual(lost.head().segments)
  expect(rebuilt.folded()).toEqual(lost.folded())
})
