/**
 * What one process knows of a node by asking it: how long to wait for an answer, and whether to ask at all.
 *
 * Time-outs adapt as those of TCP do (RFC 6298): the smoothed time of an answer and four times its deviation. A node that has not
 * answered several times in a row is suspected: it is left alone, so that nobody waits for it, but for a question now and then,
 * which becomes rarer. One answer, and it is trusted again. A suspicion is an opinion and decides nothing that must hold.
 */
export interface HealthOptions {
  readonly timeoutMsMin: number
  readonly timeoutMsMax: number
  /** As long as it has never answered, and twice as long after each failure; `timeoutMsMax` unless given. */
  readonly timeoutMsFirst?: number
  /** So many questions in a row without an answer. */
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

  /** Of the last answers; undefined before the first. */
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

  /** Whether to ask it now. Of one that is suspected, who is told yes is the one who tries. */
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

  /** It is there, as is known from elsewhere, or by an answer that tells nothing of how long others take. */
  trusted(): void {
    this.#failures = 0
    this.#pauseMs = 0
  }

  failed(nowMs: number): void {
    this.#failures++
    // Else a node that has become slower for good would never be waited for long enough to be noticed.
    this.#deviationMs = Math.min(this.#options.timeoutMsMax, Math.max(1, this.#deviationMs * 2))
    if (this.#failures === this.#options.failuresMax) this.#putOff(nowMs)
  }

  #putOff(nowMs: number): void {
    this.#pauseMs = Math.min(this.#options.probeMsMax, Math.max(this.#options.probeMs, this.#pauseMs * 2))
    this.#askAgainMs = nowMs + this.#pauseMs
  }
}
