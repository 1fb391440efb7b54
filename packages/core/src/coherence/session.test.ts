import type { ChangesEvent, CoherenceHead } from '@freshet/protocol'
import { describe, expect, it } from 'vitest'
import { formatNews } from './news.js'
import { type ListedChange, packChanges } from './packed-changes.js'
import { type Answer, Session } from './session.js'
import { createSketch } from './sketch.js'

const PATH = '/db/shop/products/1'
const READ = { paths: [PATH] }
const ABSENT: Answer = { version: undefined, position: undefined }

/** A head at `position`, in which these positions changed product 1. */
function head(position: number, changed: readonly number[] = [], options: { from?: number; log?: string } = {}) {
  const sketch = createSketch({ seed: 7n, from: options.from ?? 0, windowMs: 1000 })
  for (let at = (options.from ?? 0) + 1; at <= position; at++) {
    sketch.append([
      { position: at, timeMs: 0, keys: [changed.includes(at) ? 'shop/products/1' : 'shop/other/2'], tags: [] },
    ])
  }
  return { ...sketch.head(), log: options.log ?? 'log', timeMs: 0 } satisfies CoherenceHead
}

function event(from: number, to: number, changes: readonly ListedChange[] = []): ChangesEvent {
  return { from, to, askedMs: 0, changes: packChanges(from, to, changes) }
}

function sessionAt(...given: Parameters<typeof head>): Session {
  const session = new Session({ stalenessMs: 1000 })
  session.installHead(head(...given), undefined, [], 0)
  return session
}

describe('the sketch that a read needs', () => {
  it('is not needed for mode any, and must not be older than the mode allows for the others', () => {
    const session = new Session({ stalenessMs: 1000 })
    expect(session.needsRefresh('any', 0)).toBe(false)
    expect(session.needsRefresh('session', 0)).toBe(true)
    session.installHead(head(3), undefined, [], 5000)
    expect(session.needsRefresh('session', 6000)).toBe(false)
    expect(session.needsRefresh('session', 6001)).toBe(true)
    expect(session.needsRefresh({ withinMs: 200 }, 5200)).toBe(false)
    expect(session.needsRefresh({ withinMs: 200 }, 5201)).toBe(true)
    expect(session.needsRefresh('current', 5000)).toBe(false)
    expect(session.needsRefresh('current', 5001)).toBe(true)
  })

  it('is as fresh as the request of its head, even if a later position was known by then', () => {
    const session = sessionAt(5)
    session.installHead(head(4), undefined, [], 9000)
    expect([session.position, session.knownAsOfMs]).toEqual([5, 9000])
    session.installHead(head(5), undefined, [], 8000)
    expect(session.knownAsOfMs).toBe(9000)
  })

  it('must come from an own request if nothing may be missed, however new an event is', () => {
    const session = sessionAt(5)
    expect(session.push(event(5, 5), 500)).toBe(true)
    expect(session.needsRefresh({ withinMs: 1 }, 501)).toBe(false)
    expect(session.needsRefresh('current', 500)).toBe(true)
    expect(session.needsRefresh({ withinMs: 0 }, 500)).toBe(true)
    session.installHead(head(5), undefined, [], 500)
    expect(session.needsRefresh('current', 500)).toBe(false)
  })

  it('is as new as an event that follows it directly, but not as one that leaves a gap', () => {
    const session = sessionAt(5)
    expect(session.push(event(6, 7), 500)).toBe(false)
    expect(session.knownAsOfMs).toBe(0)
    expect(session.push(event(5, 5), 500)).toBe(true)
    expect(session.knownAsOfMs).toBe(500)
    expect(session.push(event(2, 4), 700)).toBe(true)
    expect(session.knownAsOfMs).toBe(500)
    expect(session.push(event(5, 6), Number.NEGATIVE_INFINITY)).toBe(true)
    expect([session.position, session.knownAsOfMs]).toEqual([6, 500])
  })
})

describe('news', () => {
  it('become a head for a reader that knows the rest, and not for others', () => {
    const session = sessionAt(3)
    const sketch = createSketch({ seed: 7n, from: 0, windowMs: 1000 })
    for (let at = 1; at <= 5; at++) sketch.append([{ position: at, timeMs: 0, keys: ['shop/products/1'], tags: [] }])
    const news = formatNews({ ...sketch.head(3), log: 'log', timeMs: 9 }, 3, 'n')!
    const read = session.readNews(news, 'n')!
    expect(read).toMatchObject({ log: 'log', position: 5, from: 0, timeMs: 9 })
    session.installHead(read, 3, [], 8000)
    expect([session.position, session.knownAsOfMs, session.at(READ, 'session')]).toEqual([5, 8000, 5])
    expect(new Session({ stalenessMs: 1000 }).readNews(news, 'n')).toBeUndefined()
  })

  it('of another log require a whole head', () => {
    const sketch = createSketch({ seed: 8n, from: 0, windowMs: 1000 })
    const news = formatNews({ ...sketch.head(0), log: 'other', timeMs: 9 }, 0, 'n')!
    expect(sessionAt(3).readNews(news, 'n')).toBeUndefined()
  })
})

describe('the position that a path is asked for at', () => {
  it('is absent (the plain URL) if the path did not change, and always in mode any', () => {
    expect(sessionAt(3).at(READ, 'session')).toBeUndefined()
    expect(sessionAt(3, [2]).at(READ, 'session')).toBe(2)
    expect(sessionAt(3, [2]).at(READ, 'any')).toBeUndefined()
  })

  it('is not before an own write, until the sketch knows of it', () => {
    const session = sessionAt(3)
    session.wrote([PATH], 5)
    expect(session.at(READ, 'session')).toBe(5)
    session.installHead(head(4), undefined, [], 0)
    expect(session.at(READ, 'session')).toBe(5)
    session.installHead(head(6, [5]), undefined, [], 0)
    expect(session.at(READ, 'session')).toBe(5)
    session.installHead(head(6, [], { from: 5 }), undefined, [], 0)
    expect(session.at(READ, 'session')).toBeUndefined()
  })

  it('is not before what the session saw, whether present or absent', () => {
    const session = sessionAt(3)
    expect(session.accepts(READ, undefined, 'session', { version: 5, position: 6 })).toBe(true)
    session.saw(PATH, 5)
    expect(session.at(READ, 'session')).toBe(5)
    expect(session.accepts(READ, 5, 'session', { version: undefined, position: 8 })).toBe(true)
    session.saw(PATH, 8)
    expect(session.at(READ, 'session')).toBe(8)
    session.saw(PATH, 8)
    session.saw(PATH, 9)
    expect(session.at(READ, 'session')).toBe(9)
  })

  it('is, for a list, not before what the session saw of an object in it', () => {
    const session = sessionAt(3)
    session.saw(PATH, 5)
    expect(session.at({ paths: ['/db/shop/products'] }, 'session')).toBe(5)
    expect(session.at({ paths: ['/db/shop/products/2'] }, 'session')).toBeUndefined()
  })

  it('is the later of what the session saw and what the sketch knows', () => {
    const session = sessionAt(3, [2])
    session.wrote([PATH], 7)
    expect(session.at(READ, 'session')).toBe(7)
    session.push(event(3, 6, [{ position: 6, hash: 0 }]), 0)
    expect(session.at(READ, 'session')).toBe(7)
  })
})

describe('an answer', () => {
  it('of a state before the requested position is refused', () => {
    const session = sessionAt(9, [7])
    expect(session.accepts(READ, 7, 'session', { version: 5, position: 6 })).toBe(false)
    expect(session.accepts(READ, 7, 'session', { version: undefined, position: 6 })).toBe(false)
    expect(session.accepts(READ, 7, 'session', { version: 5, position: 7 })).toBe(true)
    expect(session.accepts(READ, 7, 'session', { version: 7, position: 6 })).toBe(true)
  })

  it('under the plain URL that was read before the window began is refused, and then requested under another URL', () => {
    const session = sessionAt(9, [], { from: 4 })
    expect(session.at(READ, 'session')).toBeUndefined()
    expect(session.accepts(READ, undefined, 'session', { version: 2, position: 3 })).toBe(false)
    expect(session.at(READ, 'session')).toBe(9)
    expect(session.accepts(READ, 9, 'session', { version: 2, position: 9 })).toBe(true)
    session.installHead(head(10, [], { from: 4 }), undefined, [], 0)
    expect(session.at(READ, 'session')).toBeUndefined()
    expect(session.accepts(READ, undefined, 'session', { version: 2, position: 4 })).toBe(true)
  })

  it('that has lived too long is accepted in mode any', () => {
    const session = sessionAt(9, [], { from: 4 })
    expect(session.accepts(READ, undefined, 'any', { version: 2, position: 3 })).toBe(true)
  })

  it('that was overtaken by a newer one, or by an own write, is refused', () => {
    const session = sessionAt(3)
    const at = session.at(READ, 'session')
    session.wrote([PATH], 8)
    expect(session.accepts(READ, at, 'session', { version: 2, position: 5 })).toBe(false)
    expect(session.at(READ, 'session')).toBe(8)
  })

  it('without a position proves no more than its version does', () => {
    const session = sessionAt(9, [7], { from: 4 })
    expect(session.accepts(READ, 7, 'session', { version: 6, position: undefined })).toBe(false)
    expect(session.accepts(READ, 7, 'session', { version: 7, position: undefined })).toBe(true)
    expect(session.accepts(READ, undefined, 'session', { version: 3, position: undefined })).toBe(false)
    expect(session.accepts(READ, undefined, 'session', ABSENT)).toBe(false)
    expect(session.at(READ, 'session')).toBe(9)
  })

  it('without a position and older than an own write is refused', () => {
    const session = sessionAt(3)
    session.wrote([PATH], 8)
    expect(session.accepts(READ, 8, 'session', { version: 2, position: undefined })).toBe(false)
    expect(session.accepts(READ, 8, 'session', { version: 8, position: undefined })).toBe(true)
  })

  it('without a position is accepted where the window is the whole log: an earlier state would be in the sketch', () => {
    expect(sessionAt(3).accepts(READ, undefined, 'session', ABSENT)).toBe(true)
  })
})

describe('an answer about several paths', () => {
  const OTHER = '/db/shop/products/2'
  const both = { paths: [PATH, OTHER] }

  it('must be new enough for each of them, and raises no floor', () => {
    const session = sessionAt(3)
    session.wrote([OTHER], 5)
    expect(session.accepts(both, 4, 'session', { version: 0, position: 4 })).toBe(false)
    expect(session.accepts(both, 5, 'session', { version: 0, position: 5 })).toBe(true)
    expect(session.accepts(both, 5, 'session', { version: 0, position: undefined })).toBe(false)
    expect(session.accepts(both, undefined, 'any', { version: 0, position: 1 })).toBe(true)
    expect([session.at(READ, 'session'), session.at({ paths: [OTHER] }, 'session')]).toEqual([undefined, 5])
  })

  it('that was read before the window began sends all of them to another URL', () => {
    const session = sessionAt(9, [], { from: 4 })
    expect(session.accepts(both, undefined, 'session', { version: 0, position: 3 })).toBe(false)
    expect([session.at(READ, 'session'), session.at({ paths: [OTHER] }, 'session')]).toEqual([9, 9])
  })
})

it('once a list was shown, the sketch must reach its version before anything else is read', () => {
  const session = sessionAt(3)
  session.sawList(3)
  expect(session.needsRefresh('session', 0)).toBe(false)
  session.sawList(5)
  expect(session.needsRefresh('session', 0)).toBe(true)
  expect(session.headRequest).toEqual({ after: 3, at: 5 })
  session.installHead(head(5, [5]), undefined, [], 0)
  expect(session.needsRefresh('session', 0)).toBe(false)
  expect(session.at(READ, 'session')).toBe(5)
})

describe('a token', () => {
  it('hands on what the session has seen and written', () => {
    const first = sessionAt(3)
    first.wrote([PATH], 7)
    const second = new Session({ stalenessMs: 1000, token: first.token })
    expect([second.log, second.position]).toEqual(['log', 3])
    expect(second.headRequest).toEqual({ after: undefined, at: 3 })
    expect(second.at(READ, 'session')).toBe(7)
  })

  it('makes its bearer wait for the position', () => {
    const second = new Session({ stalenessMs: 1000, token: sessionAt(5).token })
    second.installHead(head(4), undefined, [], 0)
    expect(second.needsRefresh('session', 0)).toBe(true)
    expect(second.position).toBe(5)
    second.installHead(head(5), undefined, [], 0)
    expect(second.needsRefresh('session', 0)).toBe(false)
  })

  it('of another log is refused', () => {
    const second = new Session({ stalenessMs: 1000, token: sessionAt(5).token })
    const other = head(9, [], { log: 'other' })
    expect(() => second.installHead(other, undefined, [], 0)).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID' }),
    )
  })

  it('is the same if its bearer hands it on before speaking to a server', () => {
    const first = sessionAt(5)
    first.wrote([PATH], 7)
    expect(new Session({ stalenessMs: 0, token: first.token }).token).toBe(first.token)
  })
})

describe('another log', () => {
  it('voids everything seen, written and promised in the old one', () => {
    const session = new Session({ stalenessMs: 1000, token: sessionAt(500).token })
    session.installHead(head(500), undefined, [], 0)
    session.wrote([PATH], 600)
    expect(session.installHead(head(501), undefined, [], 4)).toBe(false)
    expect(session.isOutdated(head(599), session.reached)).toBe(true)
    expect(session.installHead(head(2, [], { log: 'other' }), undefined, [], 5)).toBe(true)
    expect([session.log, session.position, session.reached]).toEqual(['other', 2, 2])
    expect(session.at(READ, 'session')).toBeUndefined()
    expect(session.needsRefresh('session', 5)).toBe(false)
    expect(session.headRequest).toEqual({ after: 2, at: 0 })
  })
})

describe('the result of a query', () => {
  const BUCKET = '/db/shop/products'
  const BOOKS = '/db/shop/products?category=["books"]'
  const SETTINGS = '/db/shop/products?settings'
  const dependsOn = { bucket: BUCKET, paths: [BOOKS, SETTINGS] }

  /** In a log of ten commits, the second was of a book and the fourth of something else; the window is after `from`. */
  function session({ settingsAt = 0, from = 0 } = {}): Session {
    const sketch = createSketch({ seed: 7n, from, windowMs: 1000 })
    for (let position = from + 1; position <= 10; position++) {
      const tags = position === 2 ? ['shop/products?category=["books"]'] : []
      const keys = position === settingsAt ? ['shop/products'] : ['shop/products/1']
      sketch.append([{ position, timeMs: 0, keys, tags }])
    }
    const session = new Session({ stalenessMs: 1000 })
    session.installHead({ ...sketch.head(), log: 'log', timeMs: 0 }, undefined, [], 0)
    return session
  }

  it('is asked for at the last change that it depends on, whatever else changed in the bucket', () => {
    expect(session().at(dependsOn, 'session')).toBe(2)
    expect(session().at({ bucket: BUCKET, paths: [BUCKET] }, 'session')).toBe(10)
    expect(session().at({ bucket: BUCKET, paths: [SETTINGS] }, 'session')).toBeUndefined()
    expect(session().at(dependsOn, 'any')).toBeUndefined()
  })

  it('is asked for at a change of the settings of the bucket: its tags may no longer be written', () => {
    expect(session({ settingsAt: 7 }).at(dependsOn, 'session')).toBe(7)
  })

  it('is asked for at an own write, until the sketch knows of it', () => {
    const writer = session()
    writer.wrote([BUCKET], 12)
    expect(writer.at(dependsOn, 'session')).toBe(12)
    expect(writer.accepts(dependsOn, undefined, 'session', { version: 2, position: 11 })).toBe(false)
    writer.installHead(head(12), undefined, [], 1)
    expect(writer.at(dependsOn, 'session')).not.toBe(12)
  })

  it('is accepted if it includes the last changes of the dependencies that it names', () => {
    const of = (version: number, position: number | undefined, at?: number) =>
      session().accepts(dependsOn, at, 'session', { version, position })
    expect([of(1, 1), of(2, 2), of(1, 5)]).toEqual([false, true, true])
    expect(session().accepts(dependsOn, undefined, 'any', { version: 1, position: 1 })).toBe(true)
    // Asked for at 5, but of another URL.
    expect(of(2, 3, 5)).toBe(false)
    // Without its header it is no newer than its version says.
    expect([of(1, undefined), of(2, undefined), of(1, undefined, 5)]).toEqual([false, true, false])
  })

  it('from before the window is refused, and then asked for at the position of the session', () => {
    const late = session({ from: 5 })
    expect(late.at(dependsOn, 'session')).toBeUndefined()
    expect(late.accepts(dependsOn, undefined, 'session', { version: 2, position: 4 })).toBe(false)
    expect(late.at(dependsOn, 'session')).toBe(10)
    expect(session({ from: 5 }).accepts(dependsOn, undefined, 'session', { version: 2, position: 6 })).toBe(true)
  })
})
