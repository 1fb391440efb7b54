/** Servers over a ring of three Redis servers: a node is lost, then another, and comes back; with `freshet doctor` and `copy`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@freshet/client'
import { DURABLE, type RunningRedis, startRedis } from '@freshet/engines/under-test/redis'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const isLeftOut = reasonToSkip('redis') !== undefined
const MS_MAX = 30_000

let folder: string
let nodes: RunningRedis[]
let ring: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-ring-'))
  nodes = await Promise.all([1, 2, 3].map(() => startRedis({ settings: DURABLE })))
  const path = join(folder, 'ring.json')
  writeFileSync(path, JSON.stringify({ nodes: nodes.map(({ url }) => url) }))
  ring = `ring:${path}`
})
afterEach(async () => {
  await endFreshetProcesses()
  for (const node of nodes) await node.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + MS_MAX
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`The condition did not become true in ${MS_MAX} ms.`)
    await delay(50)
  }
}

describe.skipIf(isLeftOut)('a ring', () => {
  test('answers without one node, answers 503 without two, and recovers by itself', async () => {
    const server = await startFreshet(['serve', '--store', ring, '--workers', '2'])
    const db = await connect(server.url, { staleness: 0, timeoutMs: MS_MAX, retriesMax: 30 })
    const views = db.counter('shop/views')
    await views.configure({})
    for (let i = 0; i < 20; i++) await views.add('a', 1)
    await nodes[0]!.kill()
    for (let i = 0; i < 20; i++) await views.add('a', 1)
    await nodes[1]!.kill()
    const url = `${server.url}/db/shop/views/a`
    const answer = await fetch(url, { headers: { 'Cache-Control': 'no-cache' } })
    expect([answer.status, await answer.json()]).toEqual([
      503,
      expect.objectContaining({ code: 'STORE_UNAVAILABLE', outcome: 'not-done' }),
    ])
    await expect.poll(() => server.output()).toMatch(/2 of 3 nodes are needed; redis:/)
    const late = views.add('a', 1)
    await nodes[0]!.restart()
    await late
    await until(async () => (await fetch(url)).status === 200)
    expect(await views.get('a')).toBe(41)
    db.close()
    expect(await server.stop()).toBe(0)
  })

  test('freshet doctor reports what is well, and which node is not', async () => {
    const well = await runFreshet(['doctor', '--store', ring, '--json'])
    expect([well.exitCode, JSON.parse(well.output)]).toEqual([
      0,
      expect.objectContaining({ durability: 'disk', warnings: [] }),
    ])
    await nodes[2]!.kill()
    const ill = await runFreshet(['doctor', '--store', ring])
    expect([ill.exitCode, ill.output]).toEqual([1, expect.stringContaining(`${nodes[2]!.url} does not answer`)])
    await nodes[1]!.kill()
    const dead = await runFreshet(['doctor', '--store', ring])
    expect([dead.exitCode, dead.errors]).toEqual([2, expect.stringContaining('2 of 3 nodes are needed')])
    const wrong = await runFreshet(['doctor', '--store', 'ring:redis://a,redis://b'])
    expect([wrong.exitCode, wrong.errors]).toEqual([2, expect.stringContaining('it has 2 nodes')])
  })

  test('freshet copy copies a folder into it, and back', async () => {
    const [data, back] = [join(folder, 'data'), join(folder, 'back')]
    const first = await startFreshet(['serve', '--data', data, '--workers', '1'])
    const db = await connect(first.url)
    const writes = Array.from({ length: 300 }, (_, i) => ({ bucket: 'shop/products', id: `${i}`, value: { i } }))
    await db.commit(writes)
    db.close()
    await first.stop()
    for (const [from, to] of [
      [data, ring],
      [ring, back],
    ] as const) {
      const { exitCode, output, errors } = await runFreshet(['copy', '--from', from, '--to', to, '--json'])
      expect([exitCode, errors]).toEqual([0, ''])
      expect(JSON.parse(output)).toMatchObject({ repaired: 0, compared: expect.any(Number) })
    }
    const last = await startFreshet(['serve', '--data', back, '--workers', '1'])
    const other = await connect(last.url)
    expect((await other.bucket<{ i: number }>('shop/products').get('299'))?.i).toBe(299)
    other.close()
  })
})
