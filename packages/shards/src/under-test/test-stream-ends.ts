/** For tests: how streams end, and what they leave behind. */
import type { Problem } from '@freshet/protocol'
import { jsonRequest, problemOf } from '@freshet/server/testing/running-server'
import { describe, expect, test } from 'vitest'
import { metric, PAGES_COUNT, type Start, type StreamedEngine } from './streamed-engine.js'
import { askForLines, readStreamed } from './streamed-lines.js'

export function testEnds(engine: StreamedEngine, start: Start): void {
  const settled = () => expect.poll(() => engine.openTransactions(), { timeout: 30_000 })
  const SOME = 'select id, body from pages order by id'

  describe('a stream', () => {
    test.each([
      ['sorted', 'select id, body from pages where id < 6000 order by id'],
      ['in turn', 'select id, body from pages where id < $1'],
      ['with a limit', 'select id, body from pages order by id limit 100 offset 5'],
      ['of nothing', 'select id, body from pages where id < 0 order by id'],
    ])('%s leaves no transaction behind', async (_, q) => {
      const server = await start()
      for (let i = 0; i < 3; i++) await readStreamed(server, q, [6000])
      await settled().toBe(0)
    })

    test('whose reader is gone leaves no transaction behind, at whichever line the reader left', async () => {
      const server = await start()
      for (const lines of [0, 1, 2, 2000]) {
        const streamed = await askForLines(server, SOME)
        for (let i = 0; i < lines; i++) await streamed.next()
        streamed.leave()
        await settled().toBe(0)
      }
      await expect.poll(() => metric(server, 'freshet_sql_streams')).toBe(0)
      expect((await readStreamed(server, 'select count(*) from pages')).rows).toEqual([[PAGES_COUNT]])
    })

    test('whose reader leaves before the first line leaves no transaction behind', async () => {
      const server = await start()
      await readStreamed(server, 'select id from people')
      for (const waitMs of [0, 1, 2, 4, 8, 16, 32]) {
        const signal = AbortSignal.timeout(waitMs)
        const init = jsonRequest('POST', { q: SOME }, { accept: 'application/x-ndjson' })
        await server.fetch('/sql', { ...init, signal }).catch(() => undefined)
      }
      await expect.poll(() => metric(server, 'freshet_sql_streams'), { timeout: 30_000 }).toBe(0)
      await settled().toBe(0)
    })

    test('whose reader is too slow is cut off, and its snapshots are released', async () => {
      const server = await start({ settings: { sqlStreamMsMax: 300 } })
      const streamed = await askForLines(server, SOME)
      await streamed.next()
      await expect.poll(() => metric(server, 'freshet_sql_streams_cut'), { timeout: 30_000 }).toBe(1)
      await settled().toBe(0)
      expect((await streamed.rest()).isWhole).toBe(false)
    })

    test('that loses a shard ends with a line that says so, and not like a complete answer', async () => {
      const server = await start()
      const streamed = await askForLines(server, SOME)
      await streamed.next()
      await streamed.next()
      await engine.endTransaction('b')
      const { lines, isWhole } = await streamed.rest()
      expect(isWhole).toBe(false)
      const { error } = JSON.parse(lines.at(-1)!) as { error: Problem }
      expect(error).toMatchObject({ code: 'SHARD_UNAVAILABLE', shard: 'b', status: 503 })
      expect(lines.length).toBeLessThan(PAGES_COUNT)
      await settled().toBe(0)
      expect((await readStreamed(server, 'select id from people where id < 3')).rows.length).toBeGreaterThan(0)
    })
  })

  describe('streams', () => {
    test('beyond the number allowed at once are refused, and other queries are answered', async () => {
      const server = await start({ settings: { sqlStreamsMax: 2 } })
      const open = [await askForLines(server, SOME), await askForLines(server, SOME)]
      for (const each of open) await each.next()
      const refused = await server.fetch('/sql', jsonRequest('POST', { q: SOME }, { accept: 'application/x-ndjson' }))
      expect(refused.status).toBe(503)
      expect(await problemOf(refused)).toMatchObject({ code: 'SERVER_BUSY', sqlStreamsMax: 2 })
      expect((await server.fetch('/sql', jsonRequest('POST', { q: 'select count(*) from people' }))).status).toBe(200)
      for (const each of open) each.leave()
      await expect.poll(() => metric(server, 'freshet_sql_streams')).toBe(0)
      expect((await readStreamed(server, 'select id from people where id < 3')).rows.length).toBeGreaterThan(0)
      await settled().toBe(0)
    })
  })
}
