/**
 * A counter of a real server with a compact memory of operations and a given filter, and clients that retry: as
 * `retried-counter.ts`, over HTTP and in real time.
 */
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { type SlowOrigin, startSlowOrigin } from '../../caches/slow-origin.js'
import type { ServedFilter } from '../../caches/slow-origin-process.js'
import type { Arrival, Miscount } from './retried-counter.js'

export interface ServedCount extends Miscount {
  /** The final value of the counter. */
  readonly value: number
  /** Operations counted twice whose retry was surely within the window: a machine that hangs delays some. */
  readonly twiceInTime: number
}

interface Sent {
  counted: number
  readonly firstMs: number
  twiceInTime: boolean
}

const COUNTERS = '/db/lab/counters'
const SOCKETS = 16

export async function startCompactServer(filter: ServedFilter): Promise<SlowOrigin> {
  const origin = await startSlowOrigin({ settings: {}, lateShare: 0, lateMs: 0, filter })
  await send(`${origin.url}${COUNTERS}`, 'PUT', '{"kind":"counter"}')
  return origin
}

/** Sends each arrival at its time. `windowMs` is the window of the filter. */
export async function countServed(
  url: string,
  name: string,
  arrivals: readonly Arrival[],
  windowMs: number,
): Promise<ServedCount> {
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS })
  const sent = new Map<number, Sent>()
  const answers: Promise<void>[] = []
  const startMs = performance.now()
  try {
    for (const { id, atMs } of arrivals) {
      const waitMs = startMs + atMs - performance.now()
      if (waitMs > 1) await delay(waitMs)
      const first = sent.get(id) ?? { counted: 0, firstMs: performance.now(), twiceInTime: false }
      sent.set(id, first)
      answers.push(
        add(`${url}${COUNTERS}/${name}`, `${name}-${id}`, agent).then(isDone => count(first, isDone, windowMs)),
      )
    }
    await Promise.all(answers)
    const value = JSON.parse((await send(`${url}${COUNTERS}/${name}`, 'GET', '')).text) as number
    const all = [...sent.values()]
    return {
      operations: all.length,
      overCount: all.reduce((sum, { counted }) => sum + Math.max(0, counted - 1), 0),
      underCount: all.filter(({ counted }) => counted === 0).length,
      twiceInTime: all.filter(({ twiceInTime }) => twiceInTime).length,
      value,
    }
  } finally {
    agent.destroy()
  }
}

function count(sent: Sent, isDone: boolean, windowMs: number): void {
  if (isDone && ++sent.counted > 1 && performance.now() - sent.firstMs < windowMs) sent.twiceInTime = true
}

/** Returns true if the server applied the addition now. */
async function add(url: string, key: string, agent: Agent): Promise<boolean> {
  const { status, text } = await send(url, 'POST', '{"add":1}', { 'Idempotency-Key': key }, agent)
  if (status === 200) return true
  // The first attempt is still under way, or was applied before, or the filter takes it for that.
  if (text.includes('OPERATION_SEEN') || text.includes('OPERATION_IN_PROGRESS')) return false
  throw new Error(`The server answered an addition with status ${status}: ${text}`)
}

/** The rate at which the server's filter errs, as the server reports it. */
export async function servedRate(url: string): Promise<number> {
  return (JSON.parse((await send(`${url}/idempotency`, 'GET', '')).text) as { falsePositiveRate: number })
    .falsePositiveRate
}

function send(
  url: string,
  method: string,
  body: string,
  more: Readonly<Record<string, string>> = {},
  agent?: Agent,
): Promise<{ readonly status: number; readonly text: string }> {
  const content = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const headers = { ...(method === 'GET' ? {} : content), ...more }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, ...(agent && { agent }) }, incoming => {
      let text = ''
      incoming.setEncoding('utf8').on('data', part => {
        text += part
      })
      incoming.once('error', reject)
      incoming.once('end', () => resolve({ status: incoming.statusCode!, text }))
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
