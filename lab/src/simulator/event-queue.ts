/**
 * Simulated time: actions run by time, and in the order of entry at the same time. So a run is a function of its seed
 * alone.
 *
 * A heap with four children per node, for runs of many millions of events: half as deep as a binary heap, and the children are
 * neighbours in memory. Times and orders are in typed arrays, so that sifting moves numbers and not objects.
 */
export class EventQueue {
  nowMs = 0
  #times = new Float64Array(1024)
  #orders = new Float64Array(1024)
  #actions: (() => void)[] = []
  #size = 0
  #entered = 0

  /** How many events have happened. */
  done = 0

  get size(): number {
    return this.#size
  }

  /** When the next event is due; Infinity if the queue is empty. */
  get nextMs(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#times[0]!
  }

  after(delayMs: number, action: () => void): void {
    this.at(this.nowMs + delayMs, action)
  }

  /** Repeats until the run ends. Each wait is computed after the action before it. */
  every(waitMs: () => number, action: () => void): void {
    this.after(waitMs(), () => {
      action()
      this.every(waitMs, action)
    })
  }

  at(timeMs: number, action: () => void): void {
    if (this.#size === this.#times.length) this.#grow()
    const order = this.#entered++
    let at = this.#size++
    while (at > 0) {
      const parent = (at - 1) >> 2
      // Among equal times, later entries come later, so the order need not be compared here.
      if (this.#times[parent]! <= timeMs) break
      this.#move(parent, at)
      at = parent
    }
    this.#set(at, timeMs, order, action)
  }

  /** Runs everything that is due by then, including actions entered meanwhile. */
  runUntil(endMs: number): void {
    while (this.#size > 0 && this.#times[0]! <= endMs) {
      this.nowMs = this.#times[0]!
      const action = this.#actions[0]!
      this.#removeFirst()
      this.done++
      action()
    }
    this.nowMs = endMs
  }

  #removeFirst(): void {
    const last = --this.#size
    const [timeMs, order, action] = [this.#times[last]!, this.#orders[last]!, this.#actions[last]!]
    this.#actions.pop()
    if (last === 0) return
    let at = 0
    for (;;) {
      const child = this.#leastChild(at)
      if (child < 0 || !this.#isBefore(child, timeMs, order)) break
      this.#move(child, at)
      at = child
    }
    this.#set(at, timeMs, order, action)
  }

  #leastChild(at: number): number {
    const first = 4 * at + 1
    if (first >= this.#size) return -1
    let least = first
    const end = Math.min(first + 4, this.#size)
    for (let child = first + 1; child < end; child++) {
      if (this.#isBefore(child, this.#times[least]!, this.#orders[least]!)) least = child
    }
    return least
  }

  #isBefore(at: number, timeMs: number, order: number): boolean {
    const own = this.#times[at]!
    return own < timeMs || (own === timeMs && this.#orders[at]! < order)
  }

  #move(from: number, to: number): void {
    this.#times[to] = this.#times[from]!
    this.#orders[to] = this.#orders[from]!
    this.#actions[to] = this.#actions[from]!
  }

  #set(at: number, timeMs: number, order: number, action: () => void): void {
    this.#times[at] = timeMs
    this.#orders[at] = order
    this.#actions[at] = action
  }

  #grow(): void {
    const [times, orders] = [new Float64Array(this.#times.length * 2), new Float64Array(this.#times.length * 2)]
    times.set(this.#times)
    orders.set(this.#orders)
    this.#times = times
    this.#orders = orders
  }
}
