import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { type FreshetProcess, isRunning, startFreshet } from './freshet-process.js'
import { RecordedWrites } from './recorded-writes.js'
import { useFolder } from './test-folder.js'

const KILLS = Number(process.env.FRESHET_KILLS ?? 15)
const WRITERS = 6
/** The sketch remembers changes for longer than a test takes, so every one of them must be in it. */
const LIFETIME = '30m'

const folder = useFolder('kill', 'test')

function start(...more: string[]): Promise<FreshetProcess> {
  return startFreshet(['serve', '--data', join(folder(), 'data'), '--lifetime-ms', LIFETIME, ...more])
}

/** Lets the writers write for a while, does some harm, and waits until they have noticed. */
async function disturb(writes: RecordedWrites, url: string, harm: () => Promise<void>): Promise<void> {
  const writing = writes.writeUntilBroken(url)
  // Attached at once, so that a writer's error during the wait is not an unhandled rejection.
  const written = writing.then(
    () => undefined,
    error => error as Error,
  )
  // Early and late; in the middle of a commit, since there is always one under way.
  await Promise.race([writes.acknowledged(Math.floor(Math.random() * 60)), written])
  await harm()
  writes.stop()
  const complaint = await written
  if (complaint) throw complaint
}

function report(title: string, writes: RecordedWrites, startMs: readonly number[]): void {
  const sorted = [...startMs].sort((a, b) => a - b)
  const [middle, slowest] = [sorted[Math.floor(sorted.length / 2)]!, sorted.at(-1)!]
  console.log(
    `${title}: ${writes.acknowledgedCount} writes acknowledged, ${writes.unknownCount} cut off; ` +
      `start ${middle.toFixed(0)} ms in the middle, ${slowest.toFixed(0)} ms at worst`,
  )
}

test(`${KILLS} times killed while writing, one process keeps every promise`, async () => {
  const writes = new RecordedWrites({ writers: WRITERS, random: Math.random })
  const startMs: number[] = []
  for (let round = 0; round <= KILLS; round++) {
    const server = await start('--workers', '1')
    startMs.push(server.startMs)
    await writes.verify(server.url, true)
    await disturb(writes, server.url, () => server.kill())
  }
  expect(writes.acknowledgedCount).toBeGreaterThan(KILLS)
  expect(writes.unknownCount).toBeGreaterThan(KILLS / 2)
  report(`${KILLS} kills`, writes, startMs)
}, 600_000)

describe('with two workers', () => {
  const ROUNDS = Math.ceil(KILLS / 5)

  test('a killed primary takes its workers along, and loses nothing acknowledged', async () => {
    const writes = new RecordedWrites({ writers: WRITERS, random: Math.random })
    const startMs: number[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      const server = await start('--workers', '2')
      startMs.push(server.startMs)
      const workers = server.workers()
      expect(workers).toHaveLength(2)
      await writes.verify(server.url, true)
      await disturb(writes, server.url, () => server.kill())
      expect(workers.filter(isRunning)).toEqual([])
    }
    report(`${ROUNDS} kills of the primary`, writes, startMs)
  }, 600_000)

  test('a killed worker is replaced; the server continues, and nothing acknowledged is lost', async () => {
    const writes = new RecordedWrites({ writers: WRITERS, random: Math.random })
    const server = await start('--workers', '2')
    for (let round = 0; round < Math.min(ROUNDS, 6); round++) {
      const victim = server.workers()[round % 2]!
      await disturb(writes, server.url, async () => void process.kill(victim, 'SIGKILL'))
      await writes.verify(server.url, false)
      const listening = () => server.output().match(/"message":"listening"/g)!.length
      await vi.waitUntil(() => listening() === 3 + round, { timeout: 30_000 })
    }
    expect(await server.stop()).toBe(0)
    const again = await start('--workers', '1')
    await writes.verify(again.url, true)
    expect(writes.acknowledgedCount).toBeGreaterThan(ROUNDS)
    report('kills of a worker', writes, [server.startMs])
  }, 600_000)
})
