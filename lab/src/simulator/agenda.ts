/**
 * What happens when, in a simulation: actions by time, and in the order they were entered where the time is the same. So
 * a run is a function of its seed alone. A binary heap.
 */
interface Entry {
  readonly timeMs: number
  readonly order: number
  readonly action: () => void
}

export class Agenda {
  nowMs = 0
  readonly #heap: Entry[] = []
  #entered = 0

  after(delayMs: number, action: () => void): void {
    this.at(this.nowMs + delayMs, action)
  }

  at(timeMs: number, action: () => void): void {
    this.#push({ timeMs, order: this.#entered++, action })
  }

  /** Does everything that is due by then, and what follows from it. */
  runUntil(endMs: number): void {
    while (this.#heap.length > 0 && this.#heap[0]!.timeMs <= endMs) {
      const { timeMs, action } = this.#pop()
      this.nowMs = timeMs
      action()
    }
    this.nowMs = endMs
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(entry)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (isBefore(heap[parent]!, entry)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = entry
  }

  #pop(): Entry {
    const heap = this.#heap
    const first = heap[0]!
    const last = heap.pop()!
    if (heap.length > 0) this.#sink(last)
    return first
  }

  #sink(entry: Entry): void {
    const heap = this.#heap
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (child >= heap.length || isBefore(entry, heap[child]!)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = entry
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order)
}
