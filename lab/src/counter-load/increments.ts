/**
 * Increments of one counter, each by one, by clients that have one under way at a time and wait a limited time for its answer.
 * Clients that retry resend it until it is answered, so it should count once. Clients that do not retry continue with the next
 * increment, and the unanswered one counts or not.
 */
import { setTimeout as delay } from 'node:timers/promises'

const PAUSE_MS = 20

export interface Incrementer {
  /** Adds one, with the same `operation` for each attempt. Throws if no answer comes in time. 'later': still under way. */
  increment(operation: string, attempt: number): Promise<'done' | 'replayed' | 'later'>
  close(): Promise<void>
}

export interface IncrementLoad {
  readonly operations: number
  readonly clients: number
  readonly isRetrying: boolean
  connect(client: number): Promise<Incrementer>
  /** Called when all clients are connected, and when the last has its answer. */
  readonly onBegin: () => void
  readonly onEnd: () => void
  readonly onProgress: (operations: number) => void
}

export interface Increments {
  readonly operations: number
  /** Attempts without an answer: resent, or given up. */
  readonly unanswered: number
  /** Attempts whose answer was a replay. */
  readonly replays: number
  readonly seconds: number
}

export async function runIncrements(load: IncrementLoad): Promise<Increments> {
  const { operations, clients, connect, onProgress } = load
  const counts = { unanswered: 0, replays: 0 }
  let begun = 0
  let ended = 0
  // One after the other: connecting all at once would be a load of its own.
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
      // The client cannot know whether the increment was applied: that is what the experiment shows.
      counts.unanswered++
      if (!isRetrying) return
    }
    await delay(PAUSE_MS * Math.min(2 ** attempt, 32))
  }
}
