/** `freshet ring` over nodes of all kinds: Freshet servers, Redis and PostgreSQL, which are killed, join and leave. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cells, type CellsStatus, cellsOptionsOf, openCells, readCellsFile } from '@freshet/cells'
import { HEALTH_DEFAULTS, type HealthOptions } from '@freshet/cells/health'
import { freePort } from '@freshet/engines/under-test/free-port'
import { DURABLE, type RunningRedis, startRedis } from '@freshet/engines/under-test/redis'
import { type RunningPostgres, startPostgres } from '@freshet/engines/under-test/start-postgres'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, type FreshetProcess, runFreshet, startFreshet } from './freshet-process.js'

const KEYS = 24
const WAIT_MS_MAX = 60_000
/** On a busy machine a healthy node answers late. A killed node is detected at once. */
const PATIENT: HealthOptions = { ...HEALTH_DEFAULTS, timeoutMsMin: 5000, timeoutMsMax: 10_000 }
/** The test starts a dozen processes. */
const TEST_MS_MAX = 400_000
const isLeftOut = ['postgresql', 'redis'].some(service => reasonToSkip(service) !== undefined)

let folder: string
let ringFile: string
const toStop: { stop(): Promise<unknown> }[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-ring-'))
  ringFile = join(folder, 'ring.json')
})
afterEach(async () => {
  await endFreshetProcesses()
  for (const each of toStop.splice(0).reverse()) await each.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function ring(...args: string[]) {
  const { exitCode, output, errors } = await runFreshet(['ring', ...args, '--ring', ringFile, '--json'])
  return { exitCode, errors, report: output === '' ? undefined : JSON.parse(output) }
}

async function serve(name: string, port: number): Promise<FreshetProcess> {
  return startFreshet(['serve', '--data', join(folder, name), '--workers', '1', '--port', `${port}`])
}

async function threeNodes(): Promise<{ port: number; server: FreshetProcess; redis: RunningRedis }> {
  const [postgres, redis]: [RunningPostgres, RunningRedis] = [
    await startPostgres(),
    await startRedis({ settings: DURABLE }),
  ]
  toStop.push(postgres, redis)
  const port = await freePort()
  const server = await serve('first', port)
  const nodes = [
    { name: 'first', address: `http://127.0.0.1:${port}` },
    { name: 'redis', address: redis.url },
    { name: 'postgres', address: postgres.url },
  ]
  writeFileSync(ringFile, JSON.stringify({ nodes }))
  return { port, server, redis }
}

async function coordinator(): Promise<Cells> {
  const cells = await openCells({
    ...cellsOptionsOf(readCellsFile(ringFile)),
    ...{ listen: {}, hintsEveryMs: 200, tenures: { promiseMs: 500 }, health: PATIENT },
  })
  toStop.push({ stop: () => cells.close() })
  return cells
}

/** Counts up, key by key, and remembers the acknowledgements. */
class Writer {
  readonly acknowledged = new Map<string, number>()
  readonly errors: unknown[] = []
  #isOver = false
  #done: Promise<void> | undefined

  start(cells: Cells): void {
    this.#done = this.#run(cells)
  }

  async more(count: number): Promise<void> {
    const wanted = this.#count + count
    const deadlineMs = performance.now() + WAIT_MS_MAX
    while (this.#count < wanted) {
      if (performance.now() > deadlineMs) throw new Error(`No ${count} more writes: ${this.errors.at(-1)}`)
      await delay(5)
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#done
  }

  #count = 0

  async #run(cells: Cells): Promise<void> {
    for (let n = 1; !this.#isOver; n++) {
      const key = keyOf(n % KEYS)
      try {
        await cells.write(key, { contentType: 'text/plain', body: Buffer.from(`${n}`) })
        this.acknowledged.set(key, n)
        this.#count++
      } catch (error) {
        this.errors.push(error)
      }
      await delay(1)
    }
  }
}

function keyOf(n: number): string {
  return `shop/products/${n}`
}

async function checkAll(cells: Cells, { acknowledged }: Writer): Promise<void> {
  for (const [key, atLeast] of acknowledged) {
    const { value, isCurrent } = await cells.read(key, 'CURRENT')
    expect([key, isCurrent]).toEqual([key, true])
    expect(Number(Buffer.from(value!.body).toString())).toBeGreaterThanOrEqual(atLeast)
  }
}

describe.skipIf(isLeftOut)('a ring of a Freshet server, Redis and PostgreSQL', () => {
  test(
    'loses nothing while a node is killed, one joins and one leaves',
    async () => {
      const { port, server, redis } = await threeNodes()
      expect((await ring('status')).report.message).toContain('freshet ring init')
      expect(await ring('init')).toMatchObject({ exitCode: 0, report: { epoch: 1, nodes: 3 } })
      const cells = await coordinator()
      const writer = new Writer()
      writer.start(cells)
      await writer.more(30)

      await server.kill()
      await writer.more(20)
      const down = await ring('status')
      expect(down.exitCode).toBe(1)
      expect((down.report as CellsStatus).nodes.map(({ state }) => state)).toEqual(['down', 'up', 'up'])
      await serve('first', port)

      const fourth = await freePort()
      await serve('fourth', fourth)
      expect(await ring('join', 'fourth', `http://127.0.0.1:${fourth}`)).toMatchObject({ exitCode: 0, errors: '' })
      await writer.more(20)
      await redis.kill()
      const refused = await ring('leave', 'redis')
      expect([refused.exitCode, refused.report.message]).toEqual([
        1,
        expect.stringContaining('ring leave redis --lost'),
      ])
      expect(await ring('leave', 'redis', '--lost')).toMatchObject({ exitCode: 0, errors: '' })
      await writer.more(20)
      await writer.stop()

      await checkAll(cells, writer)
      expect(await ring('repair')).toMatchObject({ exitCode: 0, report: { isDone: true } })
      // The coordinator may have left a hint meanwhile, and delivers it soon.
      const lags = async () => {
        const { exitCode, report } = await ring('status', '--lag')
        const { nodes, isChanging } = report as CellsStatus
        return { exitCode, isChanging, nodes: nodes.map(({ name, behind, hints }) => [name, behind, hints]) }
      }
      await expect.poll(lags, { timeout: WAIT_MS_MAX }).toEqual({
        ...{ exitCode: 0, isChanging: false },
        nodes: ['first', 'postgres', 'fourth'].map(name => [name, 0, 0]),
      })
      for (const n of [0, 1, 2]) await cells.write(keyOf(n), undefined, 'ALL')
      expect(await ring('collect')).toMatchObject({ exitCode: 0, report: { found: 3, collected: 3 } })
      expect(await cells.read(keyOf(0), 'CURRENT')).toMatchObject({ value: undefined, isCurrent: true })
    },
    TEST_MS_MAX,
  )

  test('refuses a node that is not empty, and says why', async () => {
    await threeNodes()
    await ring('init')
    const other = await freePort()
    await serve('used', other)
    const put = { method: 'PUT', body: '{"a":1}', headers: { 'content-type': 'application/json' } }
    await fetch(`http://127.0.0.1:${other}/db/shop/products/1`, put)
    const { exitCode, report } = await ring('join', 'used', `http://127.0.0.1:${other}`)
    expect([exitCode, report.message]).toEqual([1, expect.stringContaining('not empty')])
    expect((await ring('status')).report).toMatchObject({ epoch: 1, isChanging: false })
  })
})
