/**
 * The progress of a command: on a terminal, a bar that is overwritten; otherwise, a line now and then. It appears only for work
 * that takes longer than two seconds, on standard error, so that programs can read what the command prints.
 */
export interface Progress {
  /** `copying`, `exporting`. */
  readonly what: string
  readonly done: number
  readonly total?: number | undefined
  /** The item it is at, such as a bucket or a file. */
  readonly at?: string | undefined
}

const SHOWN_AFTER_MS = 2000
const SHOWN_EVERY_MS = 250
const LINE_EVERY_MS = 5000
const BAR_WIDTH = 24

export class ProgressLine {
  readonly #isTerminal = process.stderr.isTTY === true
  readonly #beganMs = performance.now()
  #shownMs = 0

  show(progress: Progress): void {
    const nowMs = performance.now()
    if (nowMs - this.#beganMs < SHOWN_AFTER_MS) return
    if (nowMs - this.#shownMs < (this.#isTerminal ? SHOWN_EVERY_MS : LINE_EVERY_MS)) return
    this.#shownMs = nowMs
    const text = progressText(progress, (nowMs - this.#beganMs) / 1000)
    process.stderr.write(this.#isTerminal ? `\r\u001b[K${text} ` : `${text}\n`)
  }

  /** Shows progress while `work` runs, even if `progress` does not change, and clears the line at the end. */
  async during<Result>(progress: () => Progress, work: () => Promise<Result>): Promise<Result> {
    const timer = setInterval(() => this.show(progress()), SHOWN_EVERY_MS)
    try {
      return await work()
    } finally {
      clearInterval(timer)
      this.clear()
    }
  }

  /** Call this before anything else is written. */
  clear(): void {
    if (this.#isTerminal && this.#shownMs > 0) process.stderr.write('\r\u001b[K')
  }
}

export function progressText({ what, done, total, at }: Progress, tookS: number): string {
  const share = total === undefined || total === 0 ? undefined : Math.min(1, done / total)
  const filled = Math.round((share ?? 0) * BAR_WIDTH)
  const bar =
    share === undefined
      ? ''
      : `[${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}] ${`${Math.floor(share * 100)}`.padStart(3)}% `
  const of = total === undefined ? '' : ` of ${total}`
  return `${bar}${what}: ${done}${of}, ${Math.floor(tookS)} s${at === undefined ? '' : `, at ${at}`}`
}
