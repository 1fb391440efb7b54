/** When hints are delivered, and what they cost while the node that they are for is away. */
import { setTimeout as delay } from 'node:timers/promises'
import { createMemoryStore } from '@freshet/engines/memory'
import { eventually } from '@freshet/engines/under-test/eventually'
import { expect, test } from 'vitest'
import { type CellsOptions, openCells } from '../index.js'
import { createStoreNode } from '../nodes/store-node.js'

const HINTS = 'freshet-ring/hints-'

function text(value: string) {
  return { contentType: 'text/plain', body: Buffer.from(value) }
}

async function open(options: Partial<CellsOptions>) {
  const scene = { away: '', asked: 0, scans: 0, listing: 0, listingMost: 0, listMs: 0 }
  const nodes = ['a', 'b', 'c'].map(name => {
    const node = createStoreNode(createMemoryStore())
    const ask = async <Answer>(answer: () => Promise<Answer>): Promise<Answer> => {
      scene.asked++
      if (scene.away === name) throw new Error('It is away.')
      return answer()
    }
    const list = async () => {
      scene.listingMost = Math.max(scene.listingMost, ++scene.listing)
      await delay(scene.listMs)
      scene.listing--
      return node.buckets()
    }
    return {
      name,
      node: {
        read: (keys: readonly string[]) => ask(() => node.read(keys)),
        write: (...args: Parameters<typeof node.write>) => ask(() => node.write(...args)),
        scan: (...[bucket, range]: Parameters<typeof node.scan>) => {
          if (bucket.startsWith(HINTS)) scene.scans++
          return ask(() => node.scan(bucket, range))
        },
        buckets: () => ask(list),
        close: async () => {},
      },
    }
  })
  return { scene, cells: await openCells({ nodes, ...options }) }
}

/** One failure makes a node suspected. */
function health(probeMs: number) {
  return { timeoutMsMin: 10_000, timeoutMsMax: 10_000, failuresMax: 1, probeMs, probeMsMax: probeMs }
}

test('a pass over the hints begins only after the last one is over, and none begins after closing', async () => {
  const { scene, cells } = await open({ hintsEveryMs: 1 })
  scene.listMs = 10
  await eventually('there were several', () => scene.asked > 30)
  expect(scene.listingMost).toBe(1)
  await cells.close()
  const { asked } = scene
  await delay(50)
  expect(scene.asked).toBe(asked)
})

test('hints for a node that is away are not read again and again', async () => {
  const { scene, cells } = await open({ hintsEveryMs: 0, health: health(1e9) })
  scene.away = 'c'
  for (let i = 0; i < 250; i++) await cells.write(`shop/products/${i}`, text('tea'))
  await cells.quiet()
  expect(await cells.deliverHints()).toEqual({ delivered: 0, left: 250 })
  const { scans } = scene
  for (let i = 0; i < 5; i++) expect(await cells.deliverHints()).toEqual({ delivered: 0, left: 250 })
  expect(scene.scans).toBe(scans)
})

test('a node that is back receives what it missed, even if nothing else asks it', async () => {
  const { scene, cells } = await open({ hintsEveryMs: 5, health: health(10) })
  scene.away = 'c'
  await cells.write('shop/products/42', text('tea'))
  await eventually('a hint is kept', () => cells.hints.countFor('c') === 1)
  scene.away = ''
  await eventually('it is delivered', () => cells.hints.countFor('c') === 0)
  expect((await cells.read('shop/products/42', 'ALL')).value).toEqual(text('tea'))
  await cells.close()
})
