/**
 * Clients add to counters through an unreliable network, and resend each request until it is answered, while the server is
 * killed. At the end every operation was acknowledged, and each counter must equal the sum of its additions. A larger value means
 * that some were counted twice; a smaller value, that some were not counted.
 *
 * The answers are checked, too: every operation has its own version, the same in its first answer and in every later one. So are
 * concurrent reads: every read includes what was acknowledged before, and more only from operations under way.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../harness/random.js'
import { type CounterResult, CounterTally } from './counter-tally.js'
import { BUCKET, CountingClient, type CountingRequest, DECIMALS, type IdKind, NAMESPACE } from './counting-client.js'
import type { TextReply } from './request-text.js'
import { UnreliableNetwork } from './unreliable-network.js'

export interface CounterLoad {
  readonly url: string
  readonly random: Random
  readonly operations: number
  readonly clients: number
  readonly counters: number
  /** False: all operations are sent without ids. */
  readonly hasIds: boolean
  /** The share of requests with a fault. */
  readonly faultShare: number
  /** Kills of the server at random moments. */
  readonly kills: { readonly count: number; restart(): Promise<void> }
  readonly onProgress: (operations: number) => void
}

/** How many operations a client has under way. */
const LANES = 3
const PAUSE_MS = 10
const START_MS_MAX = 60_000

export async function runCounters(load: CounterLoad): Promise<CounterResult> {
  const { url, random, clients, hasIds, faultShare, counters } = load
  const network = new UnreliableNetwork(url, random.fork('network'), { faultShare, sockets: clients * LANES })
  const tally = new CounterTally(counters)
  const clock = new ServerClock(url)
  const reading = new AbortController()
  try {
    await createBucket(url)
    await clock.ask()
    const killed = kill(load, clock, tally)
    const read = readMeanwhile(load, tally, reading.signal)
    await Promise.all(
      Array.from({ length: clients }, (_, i) => {
        const ids: IdKind = !hasIds ? 'none' : i % 2 === 0 ? 'own' : 'foreign'
        const name = `client-${String(i).padStart(6, '0')}-${random.uint32().toString(36)}`.padEnd(16, '_')
        const options = { ids, name, random: random.fork(name), counters, nowMs: () => clock.nowMs() }
        return work(new CountingClient(options), network, tally, load)
      }),
    )
    await killed
    reading.abort()
    await read
    await network.quiet()
    return tally.result(network.counts, load.kills.count, await readAll(url, counters))
  } finally {
    reading.abort()
    network.close()
  }
}

async function work(
  client: CountingClient,
  network: UnreliableNetwork,
  tally: CounterTally,
  { operations, onProgress }: CounterLoad,
): Promise<void> {
  const lane = async () => {
    while (tally.begun < operations) {
      const asked = client.next()
      tally.begin(asked)
      const versions = await untilAnswered(asked, network, tally)
      tally.acknowledge(asked, versions)
      client.settle(asked)
      onProgress(tally.operations)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

async function untilAnswered(
  asked: CountingRequest,
  network: UnreliableNetwork,
  tally: CounterTally,
): Promise<number[]> {
  for (let attempt = 0; ; attempt++) {
    tally.requests++
    if (attempt > 0) tally.retries++
    const reply = await network.send(asked)
    const versions = reply && versionsIn(reply, asked)
    if (versions !== undefined) {
      if (reply!.isReplayed || reply!.body.includes('"replayed":true')) tally.replays++
      return versions
    }
    await delay(PAUSE_MS * Math.min(2 ** attempt, 32))
  }
}

interface Answer {
  readonly position: number
  readonly code?: string
  readonly results?: readonly { readonly version: number; readonly error?: { readonly code: string } }[]
}

/** Undefined if the request must be resent. */
function versionsIn({ status, body }: TextReply, asked: CountingRequest): number[] | undefined {
  if (status >= 500) return undefined
  const answer = JSON.parse(body) as Answer
  if (answer.code === 'OPERATION_IN_PROGRESS') return undefined
  if (status !== 200) throw new Error(`${asked.path} ${asked.key} was answered ${status}: ${body}`)
  if (answer.results === undefined) return [answer.position]
  const errors = answer.results.flatMap(({ error }) => error ?? [])
  const other = errors.find(({ code }) => code !== 'OPERATION_IN_PROGRESS')
  if (other) throw new Error(`${asked.path} was answered ${JSON.stringify(other)}`)
  return errors.length > 0 ? undefined : answer.results.map(({ version }) => version)
}

/** Kills after a number of answered operations, so that the kill comes in the middle however fast they are. */
async function kill(
  { kills, operations, random }: CounterLoad,
  clock: ServerClock,
  tally: CounterTally,
): Promise<void> {
  const moments = random.fork('kills')
  const after = Array.from({ length: kills.count }, () => operations * (0.1 + 0.8 * moments.float()))
  for (const answered of after.sort((a, b) => a - b)) {
    while (tally.operations < answered) await delay(1)
    await kills.restart()
    await clock.ask()
  }
}

/** The server's clock, by which ids say when they were made. It stops while the server is down. */
class ServerClock {
  readonly #url: string
  #aheadMs = 0

  constructor(url: string) {
    this.#url = url
  }

  nowMs(): number {
    return performance.now() + this.#aheadMs
  }

  async ask(): Promise<void> {
    const { timeMs } = JSON.parse(await getPatiently(`${this.#url}/time`)) as { timeMs: number }
    this.#aheadMs = timeMs - performance.now()
  }
}

async function createBucket(url: string): Promise<void> {
  const response = await fetch(`${url}/db/${NAMESPACE}/${BUCKET}`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ kind: 'counter', decimals: DECIMALS }),
  })
  if (!response.ok) throw new Error(`The server did not create the bucket: ${await response.text()}`)
}

async function readAll(url: string, counters: number): Promise<number[]> {
  const units: number[] = []
  for (let counter = 0; counter < counters; counter++) units.push(await readUnits(url, counter))
  return units
}

async function readMeanwhile(
  { url, random, counters }: CounterLoad,
  tally: CounterTally,
  signal: AbortSignal,
): Promise<void> {
  const drawn = random.fork('reads')
  while (!signal.aborted) {
    const counter = drawn.below(counters)
    await tally.read(counter, () => readUnits(url, counter))
    await delay(PAUSE_MS)
  }
}

async function readUnits(url: string, counter: number): Promise<number> {
  return Math.round(Number(await getPatiently(`${url}/db/${NAMESPACE}/${BUCKET}/${counter}`)) * 10 ** DECIMALS)
}

async function getPatiently(url: string): Promise<string> {
  const deadlineMs = performance.now() + START_MS_MAX
  for (;;) {
    try {
      const response = await fetch(url, { headers: { 'Cache-Control': 'no-cache' } })
      if (response.ok) return await response.text()
      if (response.status === 404) return '0'
    } catch (error) {
      if (performance.now() > deadlineMs) throw error
    }
    await delay(PAUSE_MS)
  }
}
