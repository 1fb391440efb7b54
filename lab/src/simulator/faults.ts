/** What befalls servers and clocks: crashes of one or all, a wall clock that jumps, lifetimes that are changed. */
import type { Random } from '../harness/random.js'
import type { Agenda } from './agenda.js'
import type { Mix } from './mix.js'
import type { ServerWorker } from './server-worker.js'
import type { TrueHistory } from './true-history.js'

export interface FaultsOptions {
  readonly agenda: Agenda
  readonly history: TrueHistory
  readonly workers: readonly ServerWorker[]
  readonly mix: Mix
  readonly random: Random
}

export function startFaults(options: FaultsOptions): void {
  const { random, agenda } = options
  const repeat = (meanMs: number, action: () => void) => {
    agenda.after(random.exponential(1 / meanMs), () => {
      action()
      repeat(meanMs, action)
    })
  }
  repeat(60_000, () => crash(options, [random.pick(options.workers)], random.float() * 20_000))
  repeat(150_000, () => crash(options, options.workers, random.float() * 40_000))
  repeat(40_000, () => jumpWall(options))
  repeat(50_000, () => changeLifetime(options))
}

function crash({ agenda, history, workers }: FaultsOptions, hit: readonly ServerWorker[], downMs: number): void {
  const crashed = hit.filter(({ isUp }) => isUp)
  for (const worker of crashed) worker.isUp = false
  history.setRunning(workers.some(({ isUp }) => isUp))
  agenda.after(downMs, () => {
    history.setRunning(true)
    for (const worker of crashed) worker.restart()
  })
}

/** By up to an hour, either way, for a while. */
function jumpWall({ agenda, history, random }: FaultsOptions): void {
  history.wallErrorMs = (random.float() - 0.3) * 3_600_000
  agenda.after(random.float() * 15_000, () => {
    history.wallErrorMs = 0
  })
}

function changeLifetime({ history, mix, random }: FaultsOptions): void {
  history.lifetimeMs = mix.lifetimeMs * random.pick([0.1, 0.5, 1, 1, 2.5])
}
