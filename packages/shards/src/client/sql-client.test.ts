import { type Database, Transport } from '@freshet/client/requests'
import { describe, expect, test } from 'vitest'
import { createSql, type SqlValue } from './sql-client.js'

/** A client whose requests are only recorded. */
function noting() {
  const sent: string[] = []
  const transport = new Transport(async (url, init) => {
    sent.push(`${url} ${String(init?.body ?? '')}`)
    return new Response('{}', { status: 200 })
  }, 'http://localhost')
  const parts = { transport, timeoutMs: 1000, closed: new AbortController().signal }
  const policy = { retriesMax: 0, random: () => 0 }
  return { sent, client: createSql({ parts: { ...parts, policy }, session: { staleness: 0 } } as unknown as Database) }
}

describe('a parameter', () => {
  test.each([
    ['NaN', Number.NaN],
    ['a whole number beyond 2^53', 2 ** 53],
    ['undefined', undefined],
    ['an object', {}],
    ['a Date of the year 10000', new Date(Date.UTC(10_000, 0))],
  ])('%s is refused, and nothing is sent', async (_, given) => {
    const { sent, client } = noting()
    const value = given as SqlValue
    const rows = async () => {
      for await (const _row of client.stream`select ${value}`);
    }
    await expect(rows()).rejects.toThrow(TypeError)
    for (const ask of [client.sql, client.explain, client.global])
      await expect((async () => ask`select ${value}`)()).rejects.toThrow(TypeError)
    expect(sent).toEqual([])
  })

  test('is sent with all its digits, and a Date with its milliseconds', async () => {
    const { sent, client } = noting()
    const [big, second, moment] = [12345678901234567890n, new Date(1000), new Date(1)]
    await client.explain`select ${big}, ${second}, ${moment}`.catch(() => undefined)
    expect(sent[0]).toContain('"p":["12345678901234567890","1970-01-01 00:00:01","1970-01-01 00:00:00.001"]')
  })
})
