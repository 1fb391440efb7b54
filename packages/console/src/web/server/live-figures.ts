/**
 * The figures of the last minutes, for charts: `/metrics` read every two seconds, and what a session on this page observes. It
 * continues while other pages are open, and pauses while the tab is hidden.
 */
import { connect, type Database } from '@freshet/client'
import { type ReadonlySignal, signal } from '@preact/signals'
import { send } from './call.js'
import { type Figure, isOfClients, latencyMs, parseMetrics, total } from './metrics.js'
import { token } from './token.js'

export interface Sample {
  /** The time of day. */
  readonly timeMs: number
  readonly requestsPerS: number
  readonly originReadsPerS: number
  readonly notModifiedPerS: number
  readonly commitsPerS: number
  readonly conflictsPerS: number
  readonly replaysPerS: number
  readonly sketchChanges: number
  readonly sketchSegments: number
  readonly medianMs: number | undefined
  readonly p99Ms: number | undefined
  /** How long it took a session of this page to learn of a commit. */
  readonly stalenessMs: number | undefined
}

interface Reading {
  readonly atMs: number
  readonly figures: readonly Figure[]
}

const INTERVAL_MS = 2000
const SAMPLES_MAX = 150
const LOOK_EVERY_MS = 10

const kept = signal<readonly Sample[]>([])
const last = signal<readonly Figure[]>([])
const failed = signal<unknown>(undefined)

export const samples: ReadonlySignal<readonly Sample[]> = kept
/** The figures of the last reading. */
export const figures: ReadonlySignal<readonly Figure[]> = last
export const failure: ReadonlySignal<unknown> = failed

let isRunning = false

/** To be called once there is a token, if one is needed. */
export function followFigures(): void {
  if (isRunning) return
  isRunning = true
  void run()
}

async function run(): Promise<void> {
  let before: Reading | undefined
  let listener: Listener | undefined
  const drop = () => {
    listener?.database.close()
    listener = undefined
  }
  for (;;) {
    if (!document.hidden) {
      try {
        const now: Reading = { atMs: performance.now(), figures: parseMetrics(await (await send('/metrics')).text()) }
        last.value = now.figures
        if (listener?.token !== token.value) drop()
        // Only now: the session holds one of the few connections that a browser has to a host, and a refused token must not get
        // one.
        listener ??= await listen(token.value)
        const stalenessMs = await observe(listener.database, total(now.figures, 'freshet_log_position'))
        if (before !== undefined) kept.value = [...kept.value, sampleOf(before, now, stalenessMs)].slice(-SAMPLES_MAX)
        before = now
        failed.value = undefined
      } catch (error) {
        failed.value = error
        drop()
        before = undefined
      }
    }
    await pause(INTERVAL_MS)
  }
}

/** A session to which the server pushes every change, and its token. */
interface Listener {
  readonly token: string
  readonly database: Database
}

async function listen(token: string): Promise<Listener> {
  const authorization = token === '' ? {} : { authorization: token }
  return { token, database: await connect(location.origin, { refresh: 'push', ...authorization }) }
}

/** The time from when the server was known to have this position until the session had it. */
async function observe({ session }: Database, position: number): Promise<number | undefined> {
  const sinceMs = performance.now()
  while (session.position < position) {
    if (performance.now() - sinceMs > INTERVAL_MS) return undefined
    await pause(LOOK_EVERY_MS)
  }
  return performance.now() - sinceMs
}

function sampleOf(before: Reading, now: Reading, stalenessMs: number | undefined): Sample {
  const seconds = (now.atMs - before.atMs) / 1000
  // A server that was restarted counts from 0.
  const perS = (name: string, fits?: (labels: Figure['labels']) => boolean) =>
    Math.max(0, (total(now.figures, name, fits) - total(before.figures, name, fits)) / seconds)
  return {
    timeMs: Date.now(),
    requestsPerS: perS('freshet_requests_total', isOfClients),
    originReadsPerS: perS('freshet_origin_reads_total'),
    notModifiedPerS: perS('freshet_not_modified_total'),
    commitsPerS: perS('freshet_commits_total'),
    conflictsPerS: perS('freshet_conflicts_total'),
    replaysPerS: perS('freshet_replays_total'),
    sketchChanges: total(now.figures, 'freshet_sketch_changes'),
    sketchSegments: total(now.figures, 'freshet_sketch_segments'),
    medianMs: latencyMs(before.figures, now.figures, 0.5),
    p99Ms: latencyMs(before.figures, now.figures, 0.99),
    stalenessMs,
  }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
