/**
 * Bounds how long it takes to send a response: a copy that a cache receives later than the window allows could outlive the
 * record of its change. So a response that is not finished in time is cut, and no cache keeps it.
 *
 * One sweep for all responses instead of a timer for each: nearly every response has been sent before the first sweep.
 */
import type { ServerResponse } from 'node:http'

export class ResponseDeadlines {
  readonly #limitMs: number
  readonly #startedMs = new Map<ServerResponse, number>()
  #timer: NodeJS.Timeout | undefined
  cut = 0

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  isInTime(startedMs: number): boolean {
    return performance.now() - startedMs < this.#limitMs
  }

  /** `startedMs`: when the request arrived, by `performance.now()`. */
  watch(response: ServerResponse, startedMs: number): void {
    if (hasLeft(response) || this.#startedMs.has(response)) return
    this.#startedMs.set(response, startedMs)
    response.once('close', () => this.#startedMs.delete(response))
    this.#timer ??= setInterval(() => this.#sweep(), Math.min(1000, Math.ceil(this.#limitMs / 4))).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #sweep(): void {
    const oldestMs = performance.now() - this.#limitMs
    for (const [response, startedMs] of this.#startedMs) {
      if (startedMs > oldestMs) continue
      this.#startedMs.delete(response)
      this.cut++
      response.destroy()
    }
    if (this.#startedMs.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Whether the system has accepted all of the response, as it nearly always does at once. */
function hasLeft({ writableEnded, socket }: ServerResponse): boolean {
  return writableEnded && socket !== null && socket.writableLength === 0
}
