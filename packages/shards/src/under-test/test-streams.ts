/** For tests: rows that are streamed line by line, from shards of any engine. */
import type { Problem, SqlAnswer, SqlExplanation } from '@freshet/protocol'
import { jsonRequest, sendRaw } from '@freshet/server/testing/running-server'
import fc from 'fast-check'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Cell } from '../plan/index.js'
import { canonical } from './compare-answers.js'
import { type AskedQuery, randomQueries } from './random-queries.js'
import { createPages, type Start, type StreamedEngine, startOver, stopServers } from './streamed-engine.js'
import { askForLines, readStreamed } from './streamed-lines.js'
import { testBounds } from './test-stream-bounds.js'
import { testEnds } from './test-stream-ends.js'
import { testOneState } from './test-stream-states.js'

const QUERIES = Number(process.env.FRESHET_QUERIES ?? 100)

export function testStreams(engine: StreamedEngine): void {
  const start: Start = options => startOver(engine, options)
  beforeAll(() => createPages(engine))
  afterEach(stopServers)
  testForm(start)
  testSameRows(start)
  testBounds(engine, start)
  testOneState(engine, start)
  testEnds(engine, start)
}

function testForm(start: Start): void {
  describe('a query whose rows are requested line by line', () => {
    test('is answered with a line about the result, and then one row in each line', async () => {
      const server = await start()
      const q = 'select id, team, score from people where id between $1 and $2 order by id'
      const response = await server.fetch('/sql', {
        ...jsonRequest('POST', { q, p: [18, 23] }, { accept: 'application/x-ndjson' }),
      })
      expect(response.headers.get('content-type')).toBe('application/x-ndjson')
      expect(response.headers.get('cache-control')).toBe('no-store')
      const [head = '', ...lines] = (await response.text()).trimEnd().split('\n')
      const whole = (await (await server.fetch('/sql', jsonRequest('POST', { q, p: [18, 23] }))).json()) as SqlAnswer
      const { rows, isKept, ...rest } = whole
      expect(isKept).toBe(true)
      expect(JSON.parse(head)).toEqual(rest)
      expect(lines.map(line => JSON.parse(line))).toEqual(rows)
      expect(rows.length).toBeGreaterThan(1)
    })

    test('has its versions as ETag like other answers, and no ETag if others write to the shards', async () => {
      const target = `/sql?q=${encodeURIComponent('select id from people')}`
      const headers = { accept: 'application/x-ndjson' }
      const [server, other] = [await start(), await start({ hasLocalWrites: true })]
      const [whole, streamed] = [await server.fetch(target), await server.fetch(target, { headers })]
      expect(streamed.headers.get('etag')).toBe(whole.headers.get('etag'))
      expect(streamed.headers.get('etag')).toMatch(/^"/)
      expect([whole.headers.get('vary'), streamed.headers.get('vary')]).toEqual(['Accept', 'Accept'])
      const unkept = await other.fetch(target, { headers })
      expect([unkept.headers.get('etag'), unkept.headers.get('cache-control')]).toEqual([null, 'no-store'])
      await Promise.all([whole, streamed, unkept].map(response => response.text()))
    })

    test('answers HEAD with its headers, without reading a row', async () => {
      const server = await start()
      const target = `/sql?q=${encodeURIComponent('select id from pages')}`
      const response = await server.fetch(target, { method: 'HEAD', headers: { accept: 'application/x-ndjson' } })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
    })

    test('is answered as a whole in HTTP/1.0, where the end of a part looks like the end of the answer', async () => {
      const server = await start()
      const request = `GET /sql?q=select%20id%20from%20people HTTP/1.0\r\nHost: 127.0.0.1\r\nAccept: application/x-ndjson\r\n\r\n`
      const { status, headers } = await sendRaw(server.port, request)
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    })

    test('is reported as streaming, or not, by explain', async () => {
      const server = await start()
      const explain = async (q: string) =>
        (await (await server.fetch('/sql', jsonRequest('POST', { q, explain: true }))).json()) as SqlExplanation
      expect(await explain('select id from people order by age limit 3')).toMatchObject({ way: 'rows', streams: true })
      expect(await explain('select id from people where id = 3')).toMatchObject({ way: 'whole', streams: true })
      expect(await explain('select count(*) from people')).toMatchObject({ way: 'groups', streams: false })
    })

    test('is merged first if it has groups, within the limits for merged results', async () => {
      const [server, strict] = [await start(), await start({ settings: { sqlRowsMax: 2 } })]
      const q = 'select age, count(*) from people group by age order by age'
      const whole = (await (await server.fetch('/sql', jsonRequest('POST', { q }))).json()) as SqlAnswer
      expect((await readStreamed(server, q)).rows).toEqual(whole.rows)
      await expect(readStreamed(strict, q)).rejects.toThrow('LIMIT_EXCEEDED')
    })

    test.each([
      ['selec 1', 'SQL_INVALID'],
      ['select * from nowhere', 'SQL_INVALID'],
      ['select p.id from people p join visits v on p.age = v.number', 'SQL_REFUSED'],
      ['select id / 0 from people where id = $5', 'SQL_INVALID'],
    ])('%j is refused as without streaming, before any line', async (q, code) => {
      const server = await start()
      const { response, rest } = await askForLines(server, q)
      expect(response.headers['content-type']).toBe('application/problem+json')
      expect((JSON.parse((await rest()).lines[0]!) as Problem).code).toBe(code)
    })
  })
}

function testSameRows(start: Start): void {
  test('random queries have the same rows line by line as in one answer, or are refused both times', async () => {
    const server = await start()
    const ask = async ({ text, values }: AskedQuery, accept: string) => {
      const response = await server.fetch('/sql', jsonRequest('POST', { q: text, p: values }, { accept }))
      const body = await response.text()
      return { ok: response.ok, body }
    }
    await fc.assert(
      fc.asyncProperty(randomQueries(), async asked => {
        const whole = await ask(asked, 'application/json')
        const streamed = await ask(asked, 'application/x-ndjson')
        expect(streamed.ok).toBe(whole.ok)
        if (!whole.ok) {
          expect(JSON.parse(streamed.body).code).toBe(JSON.parse(whole.body).code)
          return
        }
        const { rows, columns, types } = JSON.parse(whole.body) as SqlAnswer
        const [head, ...lines] = streamed.body.trimEnd().split('\n')
        expect(JSON.parse(head!)).toMatchObject({ columns, types })
        const streamedRows = lines.map(line => JSON.parse(line) as Cell[])
        expect(canonical(streamedRows, asked)).toBe(canonical(rows, asked))
      }),
      { numRuns: QUERIES },
    )
  })

  test.each([
    ['select id, name from people where name = $1 order by id', ["x'y"]],
    ['select id, name from people where name like $1 or team = $2 order by id', ['%b%', 'red']],
    ['select id, score from people where score > $1 and age <> $2 order by id', [12.5, 20]],
    ['select id, born from people where born >= $1 order by born, id', ['2011-02-01']],
    ['select id from people where name = $1', [null]],
    ['select id, title from people p join teams t on p.team = t.team where t.title = $1 order by id', ['The reds']],
  ])('%s with %j has the same rows line by line as in one answer', async (q, p) => {
    const server = await start()
    const whole = (await (await server.fetch('/sql', jsonRequest('POST', { q, p }))).json()) as SqlAnswer
    expect(await readStreamed(server, q, p)).toMatchObject({ head: { types: whole.types }, rows: whole.rows })
    expect(whole.rows.length > 0).toBe(p[0] !== null)
  })

  test('more rows are streamed than the limit for merged results', async () => {
    const server = await start({ settings: { sqlRowsMax: 5, sqlBytesMax: 50_000 } })
    const q = 'select id, body from pages where id between $1 and $2 order by id limit 1400 offset 50'
    const { rows } = await readStreamed(server, q, [700, 2200])
    expect(rows.map(([id]) => id)).toEqual(Array.from({ length: 1400 }, (_, i) => 750 + i))
  })
}
