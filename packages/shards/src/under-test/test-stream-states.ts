/** For tests: which state the rows of a stream belong to. */
import { jsonRequest, type RunningServer } from '@freshet/server/testing/running-server'
import { describe, expect, test } from 'vitest'
import { PAGES_COUNT, type Start, type StreamedEngine } from './streamed-engine.js'
import { askForLines, readStreamed } from './streamed-lines.js'

export function testOneState({ started }: StreamedEngine, start: Start): void {
  describe('while there are global writes', () => {
    test('all rows of an answer are of the one state that it names, and no later answer is of an older state', async () => {
      const [server, writer] = [await start(), await start()]
      const answers: Ages[] = []
      await whileWriting(writer, 'update people set age = age + 1', async () => {
        for (let i = 0; i < 40; i++) answers.push(await readAges(server))
      })
      const versions = answers.map(({ version }) => version)
      expect(versions).toEqual([...versions].sort((a, b) => a - b))
      expect(new Set(versions).size).toBeGreaterThan(2)
      // Each write adds one to all ages.
      const first = answers[0]!
      for (const { version, ages } of answers) {
        const added = await countWrites(first.version, version)
        expect(ages).toEqual(first.ages.map(([id, age]) => [id, age + added]))
      }
    })

    test('a write after the first line is not in the lines that follow, and does not wait for them', async () => {
      const server = await start()
      const streamed = await askForLines(server, 'select id, gen, body from pages order by word, id')
      const head = JSON.parse((await streamed.next())!)
      const first = JSON.parse((await streamed.next())!)
      const written = await server.fetch('/global', jsonRequest('POST', { q: 'update pages set gen = gen + 1' }))
      expect(written.status).toBe(200)
      const { position } = (await written.json()) as { position: number }
      expect(head.versions.pages ?? 0).toBeLessThan(position)
      const { lines, isWhole } = await streamed.rest()
      expect(isWhole).toBe(true)
      expect(lines).toHaveLength(PAGES_COUNT - 1)
      expect(new Set(lines.map(line => JSON.parse(line)[1]))).toEqual(new Set([first[1]]))
      const after = await readStreamed(server, 'select gen from pages where shelf < 60 and id < 9', [], position)
      expect(new Set(after.rows.map(([gen]) => gen))).toEqual(new Set([first[1] + 1]))
    })
  })

  describe('when shards differ', () => {
    test('a shard that is behind is brought up to date before the first line, also past a change of the schema', async () => {
      const { log, shards } = started()
      const server = await start({ settings: { globalIntervalMs: 3_600_000 } })
      await readStreamed(server, 'select age from people')
      for (const [text, isSchemaChange] of [
        ['UPDATE people SET age = age + 1', false],
        ['ALTER TABLE people ADD COLUMN late INT DEFAULT 1', true],
        ['ALTER TABLE people DROP COLUMN late', true],
      ] as const) {
        const write = { text, values: [], aspects: ['people'], isSchemaChange }
        const { position } = await log.append(write, { id: undefined, fingerprint: '' })
        await shards[1]!.apply({ ...write, position }, 10_000)
        const { head } = await readStreamed(server, 'select age from people')
        expect(head.versions.people).toBe(position)
      }
    })

    test('a change of the schema and a stream of rows at the same time both finish', async () => {
      const server = await start()
      const streamed = await askForLines(server, 'select id, gen, body from pages order by id')
      await streamed.next()
      const q = 'alter table pages add column stars int default 3'
      const changing = server.fetch('/global', jsonRequest('POST', { q }))
      const { lines, isWhole } = await streamed.rest()
      expect([lines.length, isWhole]).toEqual([PAGES_COUNT, true])
      expect((await changing).status).toBe(200)
      const { rows } = await readStreamed(server, 'select stars from pages where id < 3')
      expect(rows).toEqual([[3], [3], [3]])
      await server.fetch('/global', jsonRequest('POST', { q: 'alter table pages drop column stars' }))
    })

    test('a query at a position that does not exist yet is refused', async () => {
      const server = await start()
      await expect(readStreamed(server, 'select id from people', [], 999_999)).rejects.toThrow('SHARDS_UNSETTLED')
    })
  })

  async function countWrites(after: number, upTo: number): Promise<number> {
    const writes = await started().log.writesAfter(after, 10_000)
    return writes.filter(({ position, aspects }) => position <= upTo && aspects.includes('people')).length
  }
}

interface Ages {
  readonly version: number
  readonly ages: readonly (readonly [id: number, age: number])[]
}

async function readAges(server: RunningServer): Promise<Ages> {
  const q = 'select id, age from people where age is not null order by id'
  const { head, rows } = await readStreamed(server, q)
  return { version: head.versions.people ?? 0, ages: rows.map(([id, age]) => [Number(id), Number(age)]) }
}

async function whileWriting(server: RunningServer, q: string, work: () => Promise<void>): Promise<void> {
  let isDone = false
  const write = async () => {
    while (!isDone) await server.fetch('/global', jsonRequest('POST', { q }))
  }
  const writing = write()
  await work().finally(() => {
    isDone = true
  })
  await writing
}
