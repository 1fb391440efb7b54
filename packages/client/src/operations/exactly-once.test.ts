/**
 * Over a network that loses requests and answers, delivers some of them twice and others late, each operation takes effect
 * once, and its caller gets the first result.
 */
import { parseOperationId } from '@freshet/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect } from '../connect.js'
import { connectionLost, FakeOrigin, type Sent } from '../testing/fake-origin.js'

type Fate = 'arrives' | 'request lost' | 'answer lost' | 'twice' | 'late, as a copy' | 'slow'

const fates: fc.Arbitrary<Fate> = fc.constantFrom(
  'arrives',
  'request lost',
  'answer lost',
  'twice',
  'late, as a copy',
  'slow',
)

class Network {
  readonly origin = new FakeOrigin()
  readonly #fates: Iterator<Fate>
  readonly #late: Sent[] = []
  /** The sequence numbers, by client, of operations that were sent and not answered. */
  readonly #unanswered = new Map<string, Set<number>>()
  /** Operations that were declared settled although they were not. */
  readonly broken: string[] = []

  constructor(fatesToCome: Iterator<Fate>) {
    this.#fates = fatesToCome
    this.origin.script = sent => (sent.method === 'GET' ? undefined : this.#deliver(sent))
    this.origin.onWayBack = sent => {
      this.#answered(sent)
      return undefined
    }
  }

  async #deliver(sent: Sent): Promise<Response | Error> {
    this.#check(sent)
    const fate = this.#fates.next().value as Fate
    // Delayed requests arrive now, after later ones.
    for (const old of this.#late.splice(0)) this.origin.answer(old)
    if (fate === 'request lost') return connectionLost()
    if (fate === 'late, as a copy') {
      this.#late.push(sent)
      return connectionLost()
    }
    const answer = this.origin.answer(sent)
    if (fate === 'twice') return this.origin.answer(sent)
    if (fate === 'slow') await new Promise(resolve => setTimeout(resolve, 2))
    return fate === 'answer lost' ? connectionLost() : answer
  }

  /** Checks that no operation that may still be sent again is declared settled. */
  #check(sent: Sent): void {
    for (const { client, sequence, settledTo } of idsIn(sent)) {
      const unanswered = this.#unanswered.get(client) ?? new Set()
      unanswered.add(sequence)
      this.#unanswered.set(client, unanswered)
      if (settledTo >= Math.min(...unanswered)) this.broken.push(`${settledTo} of ${[...unanswered].join()}`)
    }
  }

  #answered(sent: Sent): void {
    for (const { client, sequence } of idsIn(sent)) this.#unanswered.get(client)?.delete(sequence)
  }
}

function idsIn({ headers, body }: Sent) {
  const key = headers.get('idempotency-key')
  const keys = key === null && body.includes('"additions"') ? keysIn(body) : key === null ? [] : [key]
  return keys.map(parseOperationId).filter(id => id.kind === 'own')
}

function keysIn(body: string): string[] {
  return (JSON.parse(body) as { additions: { key: string }[] }).additions.map(({ key }) => key)
}

const operation = fc.record({
  kind: fc.constantFrom('add' as const, 'add many' as const, 'put' as const, 'commit' as const),
  id: fc.constantFrom('a', 'b'),
  by: fc.integer({ min: 1, max: 9 }),
})

test('each operation takes effect once, whatever is lost, repeated or late, and every answer is the first one', async () => {
  const runs = fc.record({
    operations: fc.array(operation, { minLength: 1, maxLength: 12 }),
    fates: fc.infiniteStream(fates),
  })
  let replays = 0
  await fc.assert(
    fc.asyncProperty(runs, async run => {
      const network = new Network(run.fates)
      const { origin } = network
      const { url, fetch, clock } = origin
      const db = await connect(url, { fetch, clock, random: () => 0, timeoutMs: 2000 })
      const added = { a: 0, b: 0 }
      const versions: number[] = []
      await Promise.all(
        run.operations.map(async ({ kind, id, by }, n) => {
          if (kind === 'put') {
            const { version } = await db.bucket('shop/products').put(`${n}`, { n }, { ifVersion: 'absent' })
            expect(origin.objects.get(`/db/shop/products/${n}`)?.version).toBe(version)
            return
          }
          added[id as 'a'] += kind === 'add many' ? 2 * by : by
          if (kind === 'add') versions.push((await db.counter('shop/views').add(id, by)).version)
          if (kind === 'commit') await db.commit([{ bucket: 'shop/views', id, add: by }])
          if (kind === 'add many') {
            const results = await db.counter('shop/views').addMany([
              { id, by },
              { id, by },
            ])
            versions.push(...results.map(result => ('version' in result ? result.version : 0)))
          }
        }),
      )
      expect([origin.valueOf('shop/views/a'), origin.valueOf('shop/views/b')]).toEqual([added.a, added.b])
      expect(network.broken).toEqual([])
      expect([...origin.operations.applied.values()].every(times => times === 1)).toBe(true)
      // No two operations got the same version.
      expect(new Set(versions).size).toBe(versions.length)
      expect(versions).not.toContain(0)
      replays += origin.operations.replays
      db.close()
    }),
    { numRuns: 150 },
  )
  expect(replays).toBeGreaterThan(50)
}, 60_000)
