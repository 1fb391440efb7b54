import { FreshetError } from '@freshet/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatSeed } from './change-hash.js'
import { EVENT_TIME_MS, formatEvent, formatNews, parseEvent, parseNews } from './news.js'
import { packChanges } from './packed-changes.js'
import { createSketch, LISTED_CHANGES_MAX, type Sketch } from './sketch.js'
import type { ReaderHead } from './sketch-view.js'

const KNOWN = { log: 'log', seed: formatSeed(0x0123_4567_89ab_cdefn) }

const naturals = (count: number) => fc.array(fc.nat(2 ** 40), { minLength: count, maxLength: count })

const head: fc.Arbitrary<ReaderHead> = naturals(5).map(([from, sinceMs, step, beyond, hash]) => {
  const after = from! + sinceMs!
  const to = after + step! + beyond!
  const changes = packChanges(after, to, [{ position: after + step!, hash: hash! % 2 ** 20 }])
  return { ...KNOWN, position: to, from: from!, timeMs: hash!, segments: [], tail: { from: after, to, changes } }
})

function sketchOf(count: number): Sketch {
  const sketch = createSketch({ seed: 7n, from: 0, windowMs: 1000 })
  for (let position = 1; position <= count; position++) {
    sketch.append([{ position, timeMs: 0, keys: [`shop/products/${position}`], tags: [] }])
  }
  return sketch
}

describe('news', () => {
  it('become the same head again for a reader of the same sketch', () => {
    fc.assert(
      fc.property(head, given => {
        expect(parseNews(formatNews(given, given.tail.from, 'n')!, KNOWN, 'n')).toEqual(given)
      }),
    )
  })

  it('are refused by the reader of another sketch', () => {
    fc.assert(
      fc.property(head, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (given, seed) => {
        const known = { log: 'log', seed: formatSeed(seed) }
        if (known.seed !== KNOWN.seed)
          expect(parseNews(formatNews(given, given.tail.from, 'n')!, known, 'n')).toBeUndefined()
      }),
    )
  })

  it('are refused by a reader whose request had another nonce', () => {
    fc.assert(
      fc.property(head, fc.string(), fc.string(), (given, asked, other) => {
        const news = formatNews(given, given.tail.from, asked)!
        if (asked !== other) expect(parseNews(news, KNOWN, other)).toBeUndefined()
      }),
    )
  })

  it('begin with the same proof in every version', () => {
    const given = { ...KNOWN, position: 9, from: 1, timeMs: 5, segments: [] }
    const news = formatNews({ ...given, tail: { from: 9, to: 9, changes: packChanges(9, 9, []) } }, 9, 'f00dcafe')
    expect(news?.slice(0, 8)).toBe('yr1FD7o1')
  })

  it('are made only if everything that is missing is listed', () => {
    const made = (sketch: Sketch, after?: number) =>
      formatNews({ ...sketch.head(after), log: 'log', timeMs: 0 }, after, '')
    expect(made(sketchOf(5), 3)).toBeDefined()
    expect(made(sketchOf(5), 5)).toBeDefined()
    expect(made(sketchOf(5))).toBeUndefined()
    expect(made(sketchOf(5), 9)).toBeUndefined()
    expect(made(sketchOf(LISTED_CHANGES_MAX + 5), 3)).toBeUndefined()
  })

  it('that are cut short are refused', () => {
    fc.assert(
      fc.property(head, fc.nat(), (given, seed) => {
        const news = formatNews(given, given.tail.from, 'n')!
        expect(() => parseNews(news.slice(0, seed % news.length), KNOWN, 'n')).toThrow(
          expect.objectContaining({ code: 'ANSWER_INVALID' }),
        )
      }),
    )
  })

  it('never make a reader fail in any other way, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        for (const read of [() => parseNews(text, KNOWN, 'n'), () => parseEvent(text, { to: 5, askedMs: 5 })]) {
          try {
            read()
          } catch (error) {
            expect(error).toBeInstanceOf(FreshetError)
          }
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('of ten writes in a second take less than 70 characters', () => {
    const sketch = createSketch({ seed: 7n, from: 90_000, windowMs: 100_000 })
    for (let i = 1; i <= 1000; i++) {
      sketch.append([{ position: 90_000 + i, timeMs: i * 100, keys: [`shop/products/${i}`], tags: [] }])
    }
    expect(formatNews({ ...sketch.head(90_990), log: 'log', timeMs: 9_999_999 }, 90_990, 'n')!.length).toBeLessThan(70)
  })
})

describe('an event', () => {
  it('continues where the one before it ended', () => {
    fc.assert(
      fc.property(naturals(5), ([to, time, step, later, hash]) => {
        const [askedMs, laterMs] = [time! * EVENT_TIME_MS, later! * EVENT_TIME_MS]
        const next = to! + step!
        const changes = packChanges(to!, next, [{ position: next, hash: hash! % 2 ** 20 }])
        const event = { from: to!, to: next, askedMs: askedMs + laterMs, changes }
        expect(parseEvent(formatEvent(event, askedMs), { to: to!, askedMs })).toEqual(event)
      }),
    )
  })

  it('of two writes takes 15 characters, and one of no writes takes 4', () => {
    const changes = packChanges(
      100,
      102,
      [1, 2, 2].map((step, i) => ({ position: 100 + step, hash: i })),
    )
    expect(formatEvent({ from: 100, to: 102, askedMs: 5200, changes }, 5000)).toHaveLength(15)
    const nothing = packChanges(102, 102, [])
    expect(formatEvent({ from: 102, to: 102, askedMs: 5704, changes: nothing }, 5200)).toHaveLength(4)
  })
})
