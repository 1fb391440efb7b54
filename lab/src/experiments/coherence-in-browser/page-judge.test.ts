import { describe, expect, it } from 'vitest'
import { RecordedHistory } from '../../coherence-load/recorded-history.js'
import { PageJudge } from './page-judge.js'
import type { BeginStep, EndStep, Step } from './page-protocol.js'

const ID = 'item1'
/** The page's clock is 1000 ms behind ours, give or take 5. */
const CLOCK = { leastMs: 995, mostMs: 1005 }

function begin(read: number, timeMs: number, reader = 0): BeginStep {
  return { kind: 'begin', reader, timeMs, read, id: ID, what: 'a read', ageMs: 100 }
}

function end(read: number, timeMs: number, version: number, reader = 0): EndStep {
  return { kind: 'end', reader, timeMs, read, url: `/db/load/items/${ID}`, found: { version, number: version * 100 } }
}

function scene() {
  const history = new RecordedHistory()
  const create = () => new PageJudge({ history, clock: CLOCK, kinds: ['session', 'plain'], onUrl: () => {} })
  history.acknowledgePut(ID, 1, 100, 500)
  return { history, judge: create(), another: create() }
}

function judged(judge: PageJudge, steps: readonly Step[]): number {
  judge.add(steps)
  judge.judge(Number.POSITIVE_INFINITY)
  return judge.verdicts.session.stale
}

describe('a read in a page is stale', () => {
  it('if it misses a write acknowledged longer ago than allowed, by every time our clock may have shown', () => {
    const { history, judge } = scene()
    history.acknowledgePut(ID, 2, 200, 2000)
    expect(judged(judge, [begin(1, 1104), end(1, 1105, 1)])).toBe(0)
    expect(judged(judge, [begin(2, 1106), end(2, 1107, 1)])).toBe(1)
    expect(judge.verdicts).toEqual({ session: { checked: 2, stale: 1 }, plain: { checked: 0, stale: 0 } })
  })

  it('if it misses what another page has written, though that page reported it later', () => {
    const { history, judge, another } = scene()
    history.acknowledgePut(ID, 3, 300, 9000)
    judge.add([begin(1, 3000), end(1, 3001, 1)])
    another.add([{ kind: 'wrote', reader: 0, timeMs: 2000, id: ID, position: 2, number: 200 }])
    judge.judge(5000)
    expect(judge.verdicts.session.stale).toBe(1)
  })

  it('if its reader has seen or written something newer before it began, and only then', () => {
    const { judge } = scene()
    // The second began before the first had ended.
    expect(judged(judge, [begin(1, 10), begin(2, 11), end(1, 12, 5), end(2, 13, 4)])).toBe(0)
    expect(judged(judge, [begin(3, 14), end(3, 15, 4)])).toBe(1)
    const wrote = { kind: 'wrote', reader: 0, timeMs: 16, id: ID, position: 6, number: 600 } as const
    expect(judged(judge, [wrote, begin(4, 17), end(4, 18, 5)])).toBe(2)
  })
})

it('a step later than the known history is judged later', () => {
  const { judge } = scene()
  judge.add([begin(1, 10), end(1, 20, 1), begin(2, 30), end(2, 40, 1)])
  judge.judge(1020)
  expect(judge.verdicts.session.checked).toBe(1)
  judge.judge(1100)
  expect(judge.verdicts.session.checked).toBe(2)
})

it('a read without an answer is reported, and not judged', () => {
  const { judge } = scene()
  judged(judge, [begin(1, 10), { kind: 'fail', reader: 0, timeMs: 20, read: 1, message: 'no answer' }])
  expect(judge.failures).toEqual(['no answer'])
  expect(judge.verdicts.session.checked).toBe(0)
})
