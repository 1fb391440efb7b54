/**
 * Faults of servers, readers and clocks: crashes of one or all servers, stalls of servers, connections and readers, a wall clock
 * that jumps, and changed lifetimes.
 */
import type { Random } from '../harness/random.js'
import type { EventQueue } from '../simulator/event-queue.js'
import type { Mix } from './mix.js'
import type { Reader } from './reader.js'
import type { ServerWorker } from './server-worker.js'
import type { TrueHistory } from './true-history.js'

export interface FaultsOptions {
  readonly queue: EventQueue
  readonly history: TrueHistory
  readonly workers: readonly ServerWorker[]
  readonly readers: readonly Reader[]
  readonly mix: Mix
  readonly random: Random
}

export function startFaults(options: FaultsOptions): void {
  const { random, queue } = options
  const repeat = (meanMs: number, action: () => void, times = random) =>
    queue.every(() => times.exponential(1 / meanMs), action)
  repeat(60_000, () => crash(options, [random.pick(options.workers)], random.float() * 20_000))
  repeat(150_000, () => crash(options, options.workers, random.float() * 40_000))
  repeat(40_000, () => jumpWall(options))
  repeat(50_000, () => changeLifetime(options))
  const stalls = random.fork('stalls')
  repeat(20_000, () => stalls.pick(options.workers).standStill(stallMs(stalls)), stalls)
  repeat(20_000, () => stalls.pick(options.workers).stallClock(stallMs(stalls)), stalls)
  repeat(3000, () => stalls.pick(options.readers).stall.begin(stallMs(stalls)), stalls)
}

function crash({ queue, history, workers }: FaultsOptions, hit: readonly ServerWorker[], downMs: number): void {
  const crashed = hit.filter(({ isUp }) => isUp)
  for (const worker of crashed) worker.isUp = false
  history.setRunning(workers.some(({ isUp }) => isUp))
  queue.after(downMs, () => {
    history.setRunning(true)
    for (const worker of crashed) worker.restart()
  })
}

/** 0.1 to 10 s, most of them short. */
function stallMs(random: Random): number {
  return 100 * 100 ** random.float()
}

/** By up to an hour, forwards or back, for a while. */
function jumpWall({ queue, history, random }: FaultsOptions): void {
  history.wallErrorMs = (random.float() - 0.3) * 3_600_000
  queue.after(random.float() * 15_000, () => {
    history.wallErrorMs = 0
  })
}

function changeLifetime({ history, mix, random }: FaultsOptions): void {
  history.lifetimeMs = mix.lifetimeMs * random.pick([0.1, 0.5, 1, 1, 2.5])
}
