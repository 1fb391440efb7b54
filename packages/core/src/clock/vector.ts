/**
 * Vector clocks (Fidge 1988, Mattern 1989): how many events of each process are known. a happened before b exactly if the
 * vector of a is below that of b; if neither is below the other they are concurrent.
 *
 * A process that is not in a vector has had no known event, which counts as 0. Vectors are never changed in place.
 */
export type VectorClock = Readonly<Record<string, number>>

export type VectorOrder = 'before' | 'after' | 'equal' | 'concurrent'

/** A local event, which includes sending a message. */
export function tickVector(clock: VectorClock, process: string): VectorClock {
  return { ...clock, [process]: countOf(clock, process) + 1 }
}

/** Receives at `process` a message that was sent at `sent`. */
export function receiveVector(clock: VectorClock, process: string, sent: VectorClock): VectorClock {
  return tickVector(mergeVectors(clock, sent), process)
}

/** Combined knowledge: the larger number of each process. */
export function mergeVectors(a: VectorClock, b: VectorClock): VectorClock {
  const later = Object.entries(b).map(([process, count]) => [process, Math.max(countOf(a, process), count)])
  return Object.fromEntries([...Object.entries(a), ...later])
}

export function compareVectors(a: VectorClock, b: VectorClock): VectorOrder {
  const [below, above] = [isWithin(a, b), isWithin(b, a)]
  if (below && above) return 'equal'
  return below ? 'before' : above ? 'after' : 'concurrent'
}

function isWithin(a: VectorClock, b: VectorClock): boolean {
  return Object.entries(a).every(([process, count]) => count <= countOf(b, process))
}

/** Safe for a process called `constructor` or `__proto__`. */
function countOf(clock: VectorClock, process: string): number {
  return Object.hasOwn(clock, process) ? clock[process]! : 0
}
