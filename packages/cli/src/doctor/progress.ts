/** On a terminal, how far it is; only if it takes long. */
const SHOWN_AFTER_MS = 2000

export class Progress {
  readonly #total: number
  readonly #isShown = process.stderr.isTTY === true
  readonly #timer: NodeJS.Timeout | undefined
  readonly #beganMs = performance.now()
  #done = 0

  constructor(total: number) {
    this.#total = total
    if (this.#isShown) this.#timer = setInterval(() => this.#show(), 200).unref()
  }

  step(): void {
    this.#done++
  }

  end(): void {
    clearInterval(this.#timer)
    if (this.#isShown) process.stderr.write('\r\u001b[K')
  }

  #show(): void {
    const tookMs = performance.now() - this.#beganMs
    if (tookMs < SHOWN_AFTER_MS) return
    process.stderr.write(
      `\r\u001b[K${this.#done} of ${this.#total} looked at, ${Math.floor(tookMs / 1000)} s; copies need time to expire `,
    )
  }
}
