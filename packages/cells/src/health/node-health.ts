/**
 * What one process knows of a node from asking it: how long to wait for an answer, and whether to ask at all.
 *
 * Time-outs adapt as those of TCP do (RFC 6298): the smoothed time of an answer plus four times its deviation. A node that has
 * not answered several times in a row is suspected: it is left alone, so that no request waits for it, except for occasional
 * probes at growing intervals. After one answer it is trusted again. A suspicion is an opinion, and no promise depends on it.
 */
export interface HealthOptions {
  readonly timeoutMsMin: number
  readonly timeoutMsMax: number
  /** Until the node first answers; doubled after each failure. `timeoutMsMax` unless given. */
  readonly timeoutMsFirst?: number
  /** A node is suspected after this many requests in a row without an answer. */
  readonly failuresMax: number
  /** How long a node that has just become suspected is left alone; then twice as long, up to `probeMsMax`. */
  readonly probeMs: number
  readonly probeMsMax: number
}

export const HEALTH_DEFAULTS: HealthOptions = {
  timeoutMsMin: 500,
  timeoutMsMax: 4000,
  failuresMax: 3,
  probeMs: 200,
  probeMsMax: 5000,
}

const GAIN = 1 / 8
const DEVIATION_GAIN = 1 / 4
const DEVIATIONS = 4

export class NodeHealth {
  readonly #options: HealthOptions
  #smoothedMs: number | undefined
  #deviationMs = 0
  #failures = 0
  #askAgainMs = 0
  #pauseMs = 0

  constructor(options: HealthOptions = HEALTH_DEFAULTS) {
    this.#options = options
  }

  /** The smoothed time of the last answers; undefined before the first. */
  get answerMs(): number | undefined {
    return this.#smoothedMs
  }

  get timeoutMs(): number {
    const { timeoutMsMin, timeoutMsMax, timeoutMsFirst = timeoutMsMax } = this.#options
    if (this.#smoothedMs === undefined) return Math.min(timeoutMsMax, timeoutMsFirst * 2 ** this.#failures)
    return Math.min(timeoutMsMax, Math.max(timeoutMsMin, this.#smoothedMs + DEVIATIONS * this.#deviationMs))
  }

  get isSuspected(): boolean {
    return this.#failures >= this.#options.failuresMax
  }

  /** Whether to ask the node now. If it is suspected, a caller that gets true must probe it. */
  mayAsk(nowMs: number): boolean {
    if (!this.isSuspected) return true
    if (nowMs < this.#askAgainMs) return false
    this.#putOff(nowMs)
    return true
  }

  answered(tookMs: number): void {
    const before = this.#smoothedMs ?? tookMs
    this.#deviationMs += DEVIATION_GAIN * (Math.abs(tookMs - before) - this.#deviationMs)
    this.#smoothedMs = before + GAIN * (tookMs - before)
    this.trusted()
  }

  /** The node is up, as is known from elsewhere, or from an answer that says nothing about how long others take. */
  trusted(): void {
    this.#failures = 0
    this.#pauseMs = 0
  }

  failed(nowMs: number): void {
    this.#failures++
    // Otherwise a node that has become permanently slower would never get a time-out long enough to answer in.
    this.#deviationMs = Math.min(this.#options.timeoutMsMax, Math.max(1, this.#deviationMs * 2))
    if (this.#failures === this.#options.failuresMax) this.#putOff(nowMs)
  }

  #putOff(nowMs: number): void {
    this.#pauseMs = Math.min(this.#options.probeMsMax, Math.max(this.#options.probeMs, this.#pauseMs * 2))
    this.#askAgainMs = nowMs + this.#pauseMs
  }
}
