/**
 * Increments of one counter, each by one, by clients that have one under way at a time and wait for so long for its answer. Those that
 * retry send it again until it is answered, and so it should count once; those that do not go on with the next, and it counts or not.
 */
import { setTimeout as delay } from 'node:timers/promises'

const PAUSE_MS = 20

export interface Incrementer {
  /** Adds one, with the same `operation` for each attempt. Throws if there is no answer in time. 'later': it is still under way. */
  increment(operation: string, attempt: number): Promise<'done' | 'replayed' | 'later'>
  close(): Promise<void>
}

export interface IncrementLoad {
  readonly operations: number
  readonly clients: number
  readonly isRetrying: boolean
  connect(client: number): Promise<Incrementer>
  /** When all are connected, and when the last has its answer. */
  readonly onBegin: () => void
  readonly onEnd: () => void
  readonly onProgress: (operations: number) => void
}

export interface Increments {
  readonly operations: number
  /** Without an answer: sent again, or given up. */
  readonly unanswered: number
  /** Answered as they had been before. */
  readonly replays: number
  readonly seconds: number
}

export async function runIncrements(load: IncrementLoad): Promise<Increments> {
  const { operations, clients, connect, onProgress } = load
  const counts = { unanswered: 0, replays: 0 }
  let begun = 0
  let ended = 0
  // One after the other: all at once would be a load of its own.
  const connected: Incrementer[] = []
  for (let client = 0; client < clients; client++) connected.push(await connect(client))
  const startMs = performance.now()
  load.onBegin()
  const work = async (incrementer: Incrementer, client: number) => {
    while (begun < operations) {
      const operation = `increment-${begun++}-of-client-${client}`
      await incrementOnce(incrementer, operation, load.isRetrying, counts)
      onProgress(++ended)
    }
  }
  try {
    await Promise.all(connected.map(work))
    return { operations, ...counts, seconds: (performance.now() - startMs) / 1000 }
  } finally {
    load.onEnd()
    await Promise.all(connected.map(incrementer => incrementer.close()))
  }
}

async function incrementOnce(
  incrementer: Incrementer,
  operation: string,
  isRetrying: boolean,
  counts: { unanswered: number; replays: number },
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await incrementer.increment(operation, attempt)
      if (answer === 'replayed') counts.replays++
      if (answer !== 'later') return
    } catch {
      // Nobody knows whether it was done: that is the point.
      counts.unanswered++
      if (!isRetrying) return
    }
    await delay(PAUSE_MS * Math.min(2 ** attempt, 32))
  }
}
