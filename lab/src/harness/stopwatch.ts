/**
 * Measures how long our own code ran on a machine that others use as well.
 *
 * Wall-clock time includes what other processes took from us. Processor time does not, but it includes V8's helper
 * threads, which run beside us. Each is an upper bound, so the lesser is used. Browsers offer wall-clock time only.
 *
 * Not for code that waits for a disk or an engine: use wall-clock time there.
 */
export interface Instant {
  readonly wallMs: number
  readonly processorMs: number
}

export interface Stopwatch {
  now(): Instant
}

export const stopwatch: Stopwatch = {
  now: () => ({ wallMs: performance.now(), processorMs: processorMs() }),
}

export function elapsedMs(from: Instant, to: Instant): number {
  return Math.min(to.wallMs - from.wallMs, to.processorMs - from.processorMs)
}

// Looked up once, because bundles for browsers have no `process`.
const readUsage = (globalThis as { process?: NodeJS.Process }).process?.cpuUsage

function processorMs(): number {
  if (!readUsage) return performance.now()
  const { user, system } = readUsage()
  return (user + system) / 1000
}
