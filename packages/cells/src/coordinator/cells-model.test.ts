/** Cells compared with a map: whatever one node of three does, reads at QUORUM, ALL and CURRENT find the last write. */
import { createMemoryStore } from '@freshet/engines/memory'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { collectTombstones, type Node, openCells, repair } from '../index.js'
import { createStoreNode } from '../nodes/store-node.js'

type Step =
  | { readonly kind: 'write'; readonly id: string; readonly text: string | undefined; readonly level: 'QUORUM' | 'ALL' }
  | { readonly kind: 'read'; readonly id: string; readonly level: 'QUORUM' | 'ALL' | 'CURRENT' }
  | { readonly kind: 'scan'; readonly limit: number }
  | { readonly kind: 'away'; readonly node: number }
  | { readonly kind: 'repair' }
  | { readonly kind: 'collect' }
  | { readonly kind: 'deliver' }

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'é', '\u{1F375}')
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      ...{ kind: fc.constant('write' as const), id: ids, text: fc.option(fc.string(), { nil: undefined }) },
      level: fc.constantFrom('QUORUM' as const, 'ALL' as const),
    }),
    fc.record({ kind: fc.constant('read' as const), id: ids, level: fc.constantFrom('QUORUM', 'ALL', 'CURRENT') }),
    fc.record({ kind: fc.constant('scan' as const), limit: fc.integer({ min: 1, max: 4 }) }),
    // 3: all are there.
    fc.record({ kind: fc.constant('away' as const), node: fc.integer({ min: 0, max: 3 }) }),
    fc.constantFrom<Step>({ kind: 'repair' }, { kind: 'collect' }, { kind: 'deliver' }),
  ),
  { maxLength: 40 },
)

const health = { timeoutMsMin: 1000, timeoutMsMax: 1000, failuresMax: 1e9, probeMs: 1, probeMsMax: 1 }

async function openModel() {
  const scene = { away: 3 }
  const nodes = ['x', 'y', 'z'].map((name, i) => {
    const node = createStoreNode(createMemoryStore())
    const ask = async <Answer>(answer: () => Promise<Answer>): Promise<Answer> => {
      if (scene.away === i) throw new Error('It is away.')
      return answer()
    }
    const switched: Node = {
      read: keys => ask(() => node.read(keys)),
      write: (write, holds) => ask(() => node.write(write, holds)),
      scan: (bucket, range) => ask(() => node.scan(bucket, range)),
      buckets: () => ask(() => node.buckets()),
      close: () => node.close(),
    }
    return { name, node: switched }
  })
  const cells = await openCells({ nodes, health, hintsEveryMs: 0 })
  return { scene, cells, model: new Map<string, string>() }
}

type Model = Awaited<ReturnType<typeof openModel>>

/** Operations that need all three nodes are refused while one is away, and break no promise. */
async function unlessAway({ scene }: Model, needsAll: boolean, work: () => Promise<void>): Promise<void> {
  if (needsAll && scene.away < 3) await expect(work()).rejects.toThrow()
  else await work()
}

async function take(step: Step, opened: Model): Promise<void> {
  const { cells, model, scene } = opened
  if (step.kind === 'away') scene.away = step.node
  else if (step.kind === 'deliver') await cells.deliverHints()
  else if (step.kind === 'repair') await unlessAway(opened, true, async () => void (await repair(cells)))
  else if (step.kind === 'collect') await unlessAway(opened, true, async () => void (await collectTombstones(cells)))
  else if (step.kind === 'scan') await compareScan(step.limit, opened)
  else if (step.kind === 'write') {
    const { id, text, level } = step
    const value = text === undefined ? undefined : { contentType: 'text/plain', body: Buffer.from(text) }
    // Even if it is refused, two of three have taken it, so reads find it.
    if (text === undefined) model.delete(id)
    else model.set(id, text)
    await unlessAway(opened, level === 'ALL', async () => void (await cells.write(`m/b/${id}`, value, level)))
  } else {
    await unlessAway(opened, step.level === 'ALL', async () => {
      const { value, isCurrent } = await cells.read(`m/b/${step.id}`, step.level)
      expect(value && Buffer.from(value.body).toString()).toBe(model.get(step.id))
      expect(isCurrent).toBe(step.level === 'CURRENT')
    })
  }
}

async function compareScan(limit: number, { cells, model }: Model): Promise<void> {
  const found: [string, string][] = []
  let after: string | undefined
  do {
    const page = await cells.scan('m/b', after === undefined ? { limit } : { limit, after })
    expect(page.entries.length).toBeLessThanOrEqual(limit)
    for (const { id, body } of page.entries) found.push([id, Buffer.from(body).toString()])
    after = page.next
  } while (after !== undefined)
  expect(found).toEqual([...model].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
}

test('cells find what a map finds', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async list => {
      const opened = await openModel()
      for (const step of list) await take(step, opened)
      await opened.cells.quiet()
      opened.scene.away = 3
      await opened.cells.close()
    }),
    { numRuns: 150 },
  )
})
