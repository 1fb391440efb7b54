import { type Database, type Fetch, Transport } from '@freshet/client/requests'
import { FreshetError, toProblem } from '@freshet/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSql, type SqlSession } from './sql-client.js'

const HEAD = { columns: ['id', 'name'], types: ['integer', 'text'], versions: { people: 3 }, position: 3 }
const ROWS = [
  [1, 'Ann'],
  [2, 'Zoë 😀'],
  [3, null],
]
const NAMED = ROWS.map(([id, name]) => ({ id, name }))

/** As much of a database as queries need, over something in the place of a server. */
function sessionOver(fetch: Fetch, timeoutMs = 10_000, closed = new AbortController().signal): SqlSession {
  const transport = new Transport(fetch, 'http://localhost')
  const parts = { transport, timeoutMs, closed, policy: { retriesMax: 2, random: () => 0 } }
  return createSql({ parts, session: { staleness: 0 } } as unknown as Database)
}

interface Body {
  readonly body: ReadableStream<Uint8Array>
  /** How many pieces were asked for. */
  readonly pulls: () => number
}

/** With `failure`, the body ends with that error instead of a regular end. */
function bodyOf(pieces: readonly Uint8Array[], failure?: Error): Body {
  let pulls = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull: controller => {
        const piece = pieces[pulls++]
        if (piece) controller.enqueue(piece)
        else if (failure) controller.error(failure)
        else controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  return { body, pulls: () => pulls }
}

function linesOf(...lines: readonly unknown[]): Uint8Array {
  return new TextEncoder().encode(lines.map(line => `${JSON.stringify(line)}\n`).join(''))
}

/** As `fetch` does: the body fails when the request is aborted. */
function answering({ body }: Body, seen: RequestInit[] = []): Fetch {
  return async (_, init) => {
    seen.push(init)
    const piped = new TransformStream<Uint8Array, Uint8Array>()
    body.pipeTo(piped.writable, { signal: init.signal! }).catch(() => undefined)
    return new Response(piped.readable)
  }
}

async function readAll({ stream }: SqlSession): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  for await (const row of stream`select id, name from people where id < ${9}`) rows.push(row)
  return rows
}

describe('rows that arrive line by line', () => {
  test('are the same, however the body is cut into pieces', async () => {
    const bytes = linesOf(HEAD, ...ROWS)
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat({ max: bytes.length - 1 })), async cuts => {
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const pieces = places.slice(1).map((end, i) => bytes.subarray(places[i], end))
        expect(await readAll(sessionOver(answering(bodyOf(pieces.filter(({ length }) => length > 0)))))).toEqual(NAMED)
      }),
    )
  })

  test('are requested as lines, with the parameters beside the text', async () => {
    const seen: RequestInit[] = []
    await readAll(sessionOver(answering(bodyOf([linesOf(HEAD)]), seen)))
    expect(seen).toMatchObject([{ method: 'POST', headers: { accept: 'application/x-ndjson' } }])
    expect(JSON.parse(String(seen[0]!.body))).toEqual({
      q: 'select id, name from people where id < $1',
      p: [9],
      at: 0,
    })
  })

  test('are not read before they are wanted, nor after the reader stops', async () => {
    const pieces = [linesOf(HEAD), ...Array.from({ length: 100 }, (_, i) => linesOf([i, 'x']))]
    const seen: RequestInit[] = []
    const sent = bodyOf(pieces)
    for await (const { id } of sessionOver(answering(sent, seen)).stream<{ id: number }>`select id, name from people`) {
      if (id === 4) break
    }
    expect(sent.pulls()).toBeLessThan(12)
    expect(seen[0]!.signal!.aborted).toBe(true)
  })

  test('end with the error that the last line holds', async () => {
    const error = toProblem(new FreshetError('SHARD_UNAVAILABLE', 'The shard b is gone.', { details: { shard: 'b' } }))
    const sent = bodyOf([linesOf(HEAD, [1, 'Ann'], { error })], new Error('terminated'))
    await expect(readAll(sessionOver(answering(sent)))).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      details: { shard: 'b' },
    })
  })

  test('that are cut off are not taken for a complete answer, with or without a reason', async () => {
    const cut = async (...pieces: readonly Uint8Array[]) => readAll(sessionOver(answering(bodyOf(pieces))))
    const half = linesOf(HEAD, [1, 'Ann']).slice(0, -4)
    await expect(cut(half)).rejects.toMatchObject({ code: 'ANSWER_INVALID' })
    await expect(cut()).rejects.toMatchObject({ code: 'ANSWER_INVALID' })
    const failing: Fetch = async () => new Response(bodyOf([linesOf(HEAD, [1, 'Ann'])], new Error('terminated')).body)
    await expect(readAll(sessionOver(failing))).rejects.toMatchObject({
      code: 'REQUEST_FAILED',
      message: expect.stringContaining('terminated'),
      details: { outcome: 'not-done' },
    })
  })

  test('that do not arrive are given up after the time-out, or when the connection is closed', async () => {
    const silent: Fetch = async () => new Response(new ReadableStream({ start: c => c.enqueue(linesOf(HEAD)) }))
    await expect(readAll(sessionOver(silent, 50))).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
      details: { outcome: 'not-done' },
    })
    const closing = new AbortController()
    const reading = readAll(sessionOver(silent, 60_000, closing.signal))
    closing.abort(new FreshetError('REQUEST_FAILED', 'It was closed.', { details: { closed: true } }))
    await expect(reading).rejects.toMatchObject({ code: 'REQUEST_FAILED', details: { closed: true } })
  })

  test('are requested again if the server is busy, and fail with its refusal', async () => {
    const refusals = [new FreshetError('SERVER_BUSY', 'Busy.'), new FreshetError('SQL_REFUSED', 'No.')]
    const fetch: Fetch = async () => {
      const error = refusals.shift()!
      return new Response(JSON.stringify(toProblem(error)), { status: 503 })
    }
    await expect(readAll(sessionOver(fetch))).rejects.toMatchObject({ code: 'SQL_REFUSED' })
    expect(refusals).toEqual([])
  })

  test('of a state before one that was seen are requested again, at the later one', async () => {
    const seen: RequestInit[] = []
    const heads = [HEAD, { ...HEAD, versions: { people: 2 } }, { ...HEAD, versions: { people: 4 } }]
    const fetch: Fetch = async (url, init) => answering(bodyOf([linesOf(heads.shift(), ...ROWS)]), seen)(url, init)
    const session = sessionOver(fetch)
    await readAll(session)
    expect(await readAll(session)).toEqual(NAMED)
    expect(seen.map(({ body }) => JSON.parse(String(body)).at)).toEqual([0, 0, 3])
    expect(session.token).toBe('{"people":4}')
  })
})
