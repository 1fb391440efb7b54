import type { LogEntry } from '@freshet/core/store'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LastChanges, listOf } from './last-changes.js'

function entry(position: number, ...keys: string[]): LogEntry {
  return { position, timeMs: 0, keys, tags: [] }
}

describe('what changed last', () => {
  test('is known by key and by bucket, but not from before the stretch begins', () => {
    const changes = new LastChanges({ namesMax: 100 })
    expect(changes.areUnchangedSince(10, [])).toBe(false)
    changes.startAt(10)
    changes.append(10, [entry(11, 'a/b/1'), entry(14, 'a/b/2', 'a/c/1')], 20)
    expect(changes.areUnchangedSince(9, ['a/b/3'])).toBe(false)
    expect(changes.areUnchangedSince(10, ['a/b/3'])).toBe(true)
    expect(changes.areUnchangedSince(10, ['a/b/1'])).toBe(false)
    expect(changes.areUnchangedSince(11, ['a/b/1'])).toBe(true)
    expect(changes.areUnchangedSince(13, ['a/b/1', listOf('a/c')])).toBe(false)
    expect(changes.areUnchangedSince(14, [listOf('a/b'), listOf('a/c')])).toBe(true)
    expect([9, 10, 11, 12, 14, 20].filter(position => changes.isKnown(position))).toEqual([10, 11, 14, 20])
  })

  test('has no gaps: entries that leave a gap are ignored', () => {
    const changes = new LastChanges({ namesMax: 100 })
    changes.startAt(10)
    changes.append(12, [entry(13, 'a/b/1')], 13)
    expect([changes.from, changes.to, changes.isKnown(13)]).toEqual([10, 10, false])
    changes.append(5, [entry(6, 'a/b/1'), entry(11, 'a/b/2')], 12)
    expect([changes.from, changes.to, changes.isKnown(6), changes.isKnown(11)]).toEqual([10, 12, false, true])
  })

  test('agrees with the whole log or is unknown, however little room there is', () => {
    const keys = ['a/b/1', 'a/b/2', 'a/b', 'a/c/1', 'd/e/1', 'd/e/2']
    const commits = fc.array(fc.record({ gap: fc.integer({ min: 1, max: 3 }), keys: fc.subarray(keys) }), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(commits, fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 7 }), (log, namesMax, size) => {
        const changes = new LastChanges({ namesMax })
        changes.startAt(100)
        let position = 100
        const entries = log.map(({ gap, keys: changed }) => {
          position += gap
          return entry(position, ...changed)
        })
        let to = 100
        for (let from = 0; from < entries.length; from += size) {
          const some = entries.slice(from, from + size)
          changes.append(to, some, some.at(-1)!.position)
          to = some.at(-1)!.position
        }
        expect(changes.to).toBe(to)
        const changedAfter = (s: number, name: string) =>
          entries.some(each => each.position > s && each.keys.some(key => isAbout(name, key)))
        for (let s = 99; s <= to; s++) {
          const isKnown = s === 100 || entries.some(each => each.position === s)
          expect(changes.isKnown(s)).toBe(isKnown && s >= changes.from)
          for (const name of [...keys, listOf('a/b'), listOf('a/c'), listOf('d/e')]) {
            expect(changes.areUnchangedSince(s, [name])).toBe(s >= changes.from && !changedAfter(s, name))
          }
        }
      }),
    )
  })
})

function isAbout(name: string, key: string): boolean {
  return name === key || (name.endsWith('/') && (key.startsWith(name) || listOf(key) === name))
}
