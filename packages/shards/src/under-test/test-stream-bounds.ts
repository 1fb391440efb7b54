/** For tests: how much a stream holds in memory, and that the shards wait for its reader. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { PAGES_COUNT, type Start, type StreamedEngine } from './streamed-engine.js'
import { askForLines, readStreamed } from './streamed-lines.js'

const MIB = 1024 * 1024
/** The rows have more than 50 MiB of text. */
const HELD_BYTES_MAX = 12 * MIB
const LOOK_EVERY = 10_000

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** By everything in this process: the server, the drivers, and the test. */
function heldBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

export function testBounds({ waiting }: StreamedEngine, start: Start): void {
  describe('more than a hundred thousand rows', () => {
    test.each([
      ['one shard after the other', 'select id, body from pages', []],
      ['in order', 'select id, body from pages order by id', []],
      [
        'in an order that each shard must sort for',
        'select id, body from pages where id >= $1 order by word desc',
        [0],
      ],
    ])('take little memory, %s', async (_, q, p) => {
      const server = await start()
      // The parser is loaded by the first query.
      await readStreamed(server, 'select id, body from pages where id < 3000 order by id')
      const before = heldBytes()
      const streamed = await askForLines(server, q, p)
      expect(await streamed.next()).toMatch(/^\{"columns":\["id","body"\]/)
      let [count, heldMax, idSum] = [0, 0, 0]
      for (let line = await streamed.next(); line !== undefined; line = await streamed.next()) {
        count++
        idSum += JSON.parse(line)[0]
        if (count % LOOK_EVERY === 0) heldMax = Math.max(heldMax, heldBytes() - before)
      }
      expect({ count, idSum, isWhole: streamed.response.complete }).toEqual({
        count: PAGES_COUNT,
        idSum: (PAGES_COUNT * (PAGES_COUNT - 1)) / 2,
        isWhole: true,
      })
      expect(PAGES_COUNT).toBeGreaterThan(100_000)
      expect(heldMax).toBeLessThan(HELD_BYTES_MAX)
    })

    test('are not read from the shards before their reader takes them', async () => {
      const server = await start()
      // The parser is loaded by the first query.
      await readStreamed(server, 'select id, body from pages where id < 3000 order by id')
      const before = heldBytes()
      const streamed = await askForLines(server, 'select id, body from pages order by id')
      await streamed.next()
      await expect.poll(waiting, { timeout: 30_000 }).toBe(3)
      expect(heldBytes() - before).toBeLessThan(HELD_BYTES_MAX)
      // They still wait, or wait again: a shard may have been between two batches at the first check.
      await expect.poll(waiting, { timeout: 30_000 }).toBe(3)
      const { lines, isWhole } = await streamed.rest()
      expect([lines.length, isWhole]).toEqual([PAGES_COUNT, true])
    })
  })
}
