import { describe, expect, it } from 'vitest'
import { ReadChecker, SessionRecord } from './read-checker.js'
import { RecordedHistory } from './recorded-history.js'

const ID = 'item1'

/** Writes acknowledged: 1 at 10 ms, 2 at 20 ms. */
function scene() {
  const history = new RecordedHistory()
  history.acknowledgePut(ID, 1, 100, 10)
  history.acknowledgePut(ID, 2, 200, 20)
  const checker = new ReadChecker(history)
  const record = new SessionRecord()
  /** The kinds of promises broken by a read that began then and got that. */
  function broken(
    beganMs: number,
    ageMs: number,
    version: number | undefined,
    number = (version ?? 0) * 100,
  ): string[] {
    const before = new Map(checker.violations)
    const read = checker.begin(ID, record, 'a read', ageMs, beganMs)
    checker.end(read, version === undefined ? undefined : { version, number }, undefined, beganMs)
    return [...checker.violations].filter(([kind, count]) => count !== (before.get(kind) ?? 0)).map(([kind]) => kind)
  }
  return { history, checker, record, broken }
}

describe('a read must reflect', () => {
  it('what was acknowledged longer ago than its mode allows', () => {
    const { broken } = scene()
    expect(broken(15, 0, 1)).toEqual([])
    expect(broken(20, 0, 1)).toEqual([])
    expect(broken(25, 10, 1)).toEqual([])
    expect(broken(25, 0, 1)).toEqual(['staleness'])
    expect(broken(31, 10, 1)).toEqual(['staleness'])
    expect(broken(31, 10, 2)).toEqual([])
  })

  it('what its session saw and wrote before', () => {
    const { broken, record } = scene()
    broken(15, 100, 2)
    expect(broken(16, 100, 1)).toEqual(['monotonic'])
    record.wrote.set(ID, 3)
    expect(broken(17, 100, 2)).toEqual(['own write'])
    expect(broken(18, 100, 3)).toEqual([])
  })

  it('exactly what was written under the version that it got', () => {
    const { broken } = scene()
    expect(broken(15, 0, 2, 100)).toEqual(['content'])
  })

  it('what the earlier session saw, if the session was handed on', () => {
    const { checker, record, broken } = scene()
    broken(15, 100, 2)
    const read = checker.begin(ID, new SessionRecord(record), 'a read', 100, 16)
    checker.end(read, { version: 1, number: 100 }, undefined, 17)
    expect(checker.violations.get('monotonic')).toBe(1)
  })
})

describe('a read that finds nothing', () => {
  it('is wrong if the object was not deleted', () => {
    expect(scene().broken(25, 0, undefined)).toContain('staleness')
  })

  it('is right if the object was deleted last, or is being deleted', () => {
    const { history, broken } = scene()
    history.beginDelete(ID)
    expect(broken(25, 0, undefined)).toEqual([])
    history.acknowledgeDelete(ID, 3, 30)
    expect(broken(35, 0, undefined)).toEqual([])
  })

  it('is wrong if the object was written again, and counts as seen', () => {
    const { history, broken } = scene()
    history.beginDelete(ID)
    history.acknowledgeDelete(ID, 3, 30)
    expect(broken(35, 0, undefined)).toEqual([])
    expect(broken(36, 100, 2)).toEqual(['monotonic'])
    history.acknowledgePut(ID, 4, 400, 40)
    expect(broken(45, 0, undefined)).toContain('staleness')
  })

  it('is wrong after a delete that found nothing', () => {
    const { history, broken } = scene()
    history.beginDelete(ID)
    history.dropDelete(ID)
    expect(broken(25, 0, undefined)).toContain('staleness')
  })
})

it('must reflect the latest acknowledgement, even if acknowledgements come out of order', () => {
  const history = new RecordedHistory()
  history.acknowledgePut(ID, 5, 1, 10)
  history.acknowledgePut(ID, 4, 2, 20)
  expect([5, 11, 21].map(ms => history.dueAt(ID, ms))).toEqual([0, 5, 5])
})
