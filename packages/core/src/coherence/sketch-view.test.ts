import { type CoherenceHead, FreshetError } from '@freshet/protocol'
import { describe, expect, it } from 'vitest'
import { packChanges } from './packed-changes.js'
import { decodeFilter } from './segment-bundle.js'
import { createSketch, type Sketch } from './sketch.js'
import { SketchView } from './sketch-view.js'

const SEED = 7n
const WINDOW_MS = 100_000
const path = (id: number) => `/db/shop/products/${id}`

function sketchOf(times: readonly number[], windowMs = WINDOW_MS, seed = SEED): Sketch {
  const sketch = createSketch({ seed, from: 0, windowMs })
  sketch.append(times.map((timeMs, i) => ({ position: i + 1, timeMs, keys: [`shop/products/${i + 1}`], tags: [] })))
  return sketch
}

function headOf(sketch: Sketch, after?: number, log = 'log'): CoherenceHead {
  return { ...sketch.head(after), log, timeMs: 0 }
}

/** Without the last change. */
function cut(tail: CoherenceHead['tail']): CoherenceHead['tail'] {
  return 'changes' in tail ? { ...tail, changes: tail.changes.slice(0, -4) } : tail
}

function install(view: SketchView, sketch: Sketch, log = 'log'): void {
  const after = log === view.log ? view.after : undefined
  const head = headOf(sketch, after, log)
  const plan = view.plan(head, after)
  const missing = plan.kind === 'install' ? plan.missing : []
  view.install(
    head,
    after,
    missing.map(ref => decodeFilter(sketch.segment(ref)!, SEED)),
  )
}

describe('before the first head', () => {
  it('nothing is known, and no event is accepted', () => {
    const view = new SketchView()
    expect([view.log, view.after, view.at(path(1))]).toEqual([undefined, undefined, undefined])
    expect(view.push({ from: 0, to: 1, askedMs: 0, changes: packChanges(0, 1, []) })).toBe(false)
  })
})

describe('the position that a path is asked for at', () => {
  it('is its last change if that is listed, the end of its segment if not, and absent if it did not change', () => {
    const view = new SketchView()
    install(view, sketchOf([0, 10, 5000, 5010]))
    expect([1, 2, 3, 4, 5].map(id => view.at(path(id)))).toEqual([2, 2, 3, 4, undefined])
    expect(view.at('/db/shop/products')).toBe(4)
  })

  it('is the same for all readers that poll often', () => {
    const [early, late] = [new SketchView(), new SketchView()]
    install(early, sketchOf([0]))
    install(late, sketchOf([0]))
    install(early, sketchOf([0, 5000, 6000]))
    install(late, sketchOf([0, 5000]))
    install(late, sketchOf([0, 5000, 6000]))
    for (const id of [1, 2, 3]) expect(late.at(path(id))).toBe(early.at(path(id)))
  })
})

describe('a head', () => {
  it('that is older than the known one is ignored', () => {
    const view = new SketchView()
    install(view, sketchOf([0, 10, 20]))
    const older = headOf(sketchOf([0, 10]))
    expect(view.plan(older, undefined)).toEqual({ kind: 'ignore' })
    view.install(older, undefined, [])
    expect(view.position).toBe(3)
  })

  it('of another log is only accepted whole, and voids the known changes', () => {
    const view = new SketchView()
    install(view, sketchOf([0, 10, 20]))
    const other = headOf(sketchOf([0]), 3, 'other')
    expect(view.plan(other, 3)).toEqual({ kind: 'restart' })
    expect(() => view.install(other, 3, [])).toThrow(/continue/)
    install(view, sketchOf([0]), 'other')
    expect([view.log, view.position, view.at(path(3))]).toEqual(['other', 1, undefined])
  })

  it('under another seed cannot continue the old one: the known hashes would never be found again', () => {
    const view = new SketchView()
    install(view, sketchOf([0]))
    const head = headOf(sketchOf([0, 10], WINDOW_MS, 8n), 1)
    expect(view.plan(head, 1)).toEqual({ kind: 'restart' })
    const whole = headOf(sketchOf([0, 10], WINDOW_MS, 8n))
    view.install(whole, undefined, [])
    expect([view.at(path(1)), view.at(path(2))]).toEqual([1, 2])
  })

  it('whose filters were fetched before an event came is installed with the right ones', () => {
    // Three segments are missing. While they are fetched, an event makes the first two known: the third filter must not
    // be taken for the first, or the change of path 3 would be forgotten.
    const sketch = sketchOf([0, 5000, 10_000, 15_000])
    const view = new SketchView()
    view.install(headOf(createSketch({ seed: SEED, from: 0, windowMs: WINDOW_MS })), undefined, [])
    const head = headOf(sketch)
    const plan = view.plan(head, 0)
    expect(plan).toMatchObject({ missing: [{ to: 1 }, { to: 2 }, { to: 3 }] })
    const filters = plan.kind === 'install' ? plan.missing.map(ref => decodeFilter(sketch.segment(ref)!, SEED)) : []
    const changes = sketchOf([0, 5000]).changesAfter(0)!
    expect(view.push({ from: 0, to: 2, askedMs: 0, changes })).toBe(true)
    view.install(head, 0, filters)
    expect([1, 2, 3, 4].map(id => view.at(path(id)))).toEqual([1, 2, 3, 4])
  })

  it('is refused if a filter is missing', () => {
    const view = new SketchView()
    expect(() => view.install(headOf(sketchOf([0, 5000])), undefined, [])).toThrow(FreshetError)
    expect(view.log).toBeUndefined()
  })

  it('of a server whose window begins earlier does not bring back what was dropped', () => {
    const late = sketchOf([0, 150_000])
    late.advance(150_000, WINDOW_MS)
    const view = new SketchView()
    install(view, late)
    expect(view.from).toBe(1)
    install(view, sketchOf([0, 150_000, 151_000]))
    expect(view.from).toBe(1)
    expect(view.position).toBe(3)
  })

  it('makes a reader that slept longer than the window start over', () => {
    const view = new SketchView()
    install(view, sketchOf([0, 10]))
    const sketch = sketchOf([0, 10, 20, 500_000])
    sketch.advance(500_000, WINDOW_MS)
    install(view, sketch)
    expect([view.from, view.position]).toEqual([3, 4])
    expect([1, 2, 3, 4].map(id => view.at(path(id)))).toEqual([undefined, undefined, undefined, 4])
  })

  it.each<[string, (head: CoherenceHead) => CoherenceHead]>([
    ['a hole before its tail', head => ({ ...head, tail: { from: 2, to: 3, changes: packChanges(2, 3, []) } })],
    ['a tail that ends early', head => ({ ...head, tail: { from: 0, to: 2, changes: packChanges(0, 2, []) } })],
    ['a tail that reaches beyond it', head => ({ ...head, tail: { from: 0, to: 9, changes: packChanges(0, 9, []) } })],
    [
      'a tail that lists less than it says',
      head => ({ ...head, tail: { from: 0, to: 3, changes: packChanges(0, 2, []) } }),
    ],
    [
      'a change after its end',
      head => ({ ...head, tail: { from: 0, to: 3, changes: packChanges(0, 3, [{ position: 9, hash: 1 }]) } }),
    ],
    ['a list that is cut short', head => ({ ...head, tail: cut(head.tail) })],
    ['a tail that is not a list', head => ({ ...head, tail: { from: 0, to: 3, changes: 'DB%' } })],
    ['a tail that is not a filter', head => ({ ...head, tail: { from: 0, to: 3, filter: 'AAAA' } })],
    ['a tail that is not base64', head => ({ ...head, tail: { from: 0, to: 3, filter: '%' } })],
    ['an invalid seed', head => ({ ...head, seed: 'x' })],
  ])('with %s is refused, and nothing of it is installed', (_, spoil) => {
    const view = new SketchView()
    const head = spoil(headOf(sketchOf([0, 10, 20])))
    expect(() => view.install(head, undefined, [])).toThrow(expect.objectContaining({ code: 'ANSWER_INVALID' }))
    expect([view.log, view.position]).toEqual([undefined, 0])
  })
})

describe('an event', () => {
  it('that leaves a gap is refused; one that is known already changes nothing', () => {
    const view = new SketchView()
    install(view, sketchOf([0]))
    expect(view.push({ from: 2, to: 3, askedMs: 0, changes: packChanges(2, 3, []) })).toBe(false)
    expect(view.push({ from: 0, to: 1, askedMs: 0, changes: packChanges(0, 1, []) })).toBe(true)
    expect(view.position).toBe(1)
  })

  it('that overlaps the known changes is accepted', () => {
    const view = new SketchView()
    install(view, sketchOf([0]))
    const changes = sketchOf([0, 10, 20]).changesAfter(0)!
    expect(view.push({ from: 0, to: 3, askedMs: 0, changes })).toBe(true)
    expect([1, 2, 3].map(id => view.at(path(id)))).toEqual([1, 2, 3])
  })
})

describe('memory', () => {
  it('is bounded under events alone: they are refused until a head says what has left the window', () => {
    const view = new SketchView()
    install(view, createSketch({ seed: SEED, from: 0, windowMs: WINDOW_MS }))
    const event = (position: number) => ({
      from: position - 1,
      to: position,
      askedMs: 0,
      changes: packChanges(position - 1, position, [{ position, hash: position }]),
    })
    let taken = 0
    while (taken < 100_000 && view.push(event(taken + 1))) taken++
    expect(taken).toBeLessThan(5000)
    expect(view.after).toBeUndefined()
    expect(view.position).toBe(taken)
    const sketch = createSketch({ seed: SEED, from: taken, windowMs: WINDOW_MS })
    install(view, sketch)
    expect(view.push(event(taken + 1))).toBe(true)
  })

  it('is bounded under polling: a reader with too many small segments asks for the merged ones', () => {
    const view = new SketchView()
    const sketch = createSketch({ seed: SEED, from: 0, windowMs: 10_000_000 })
    for (let second = 0; second < 1000; second++) {
      const changes = Array.from({ length: 40 }, (_, i) => `shop/products/${second * 40 + i}`)
      sketch.append([{ position: 2 * second + 1, timeMs: second * 1000, keys: changes, tags: [] }])
      sketch.append([{ position: 2 * second + 2, timeMs: second * 1000, keys: changes, tags: [] }])
      sketch.advance(second * 1000, 10_000_000)
      install(view, sketch)
    }
    expect(view.position).toBe(2000)
    for (const id of [0, 5000, 39_999]) expect(view.at(path(id))).toBeDefined()
  })
})
