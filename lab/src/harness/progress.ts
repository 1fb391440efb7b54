/** A progress bar on a terminal; elsewhere (a pipe, a log) one plain line every few seconds. */
import type { Progress } from './experiment.js'

export interface ProgressOutput {
  write(text: string): unknown
  readonly isTTY?: boolean
}

export interface ProgressBar {
  readonly update: Progress
  /** Wipes the bar, so that the next output starts on a clean line. */
  end(): void
}

const BAR_WIDTH = 30
const REDRAW_MS = 100
const PLAIN_LINE_MS = 5000
const WIPE_LINE = '\r\x1b[2K'

export function createProgressBar(name: string, output: ProgressOutput, nowMs: () => number): ProgressBar {
  const pauseMs = output.isTTY ? REDRAW_MS : PLAIN_LINE_MS
  let drawnAtMs = nowMs()
  return {
    update(done, total, label = '') {
      if (nowMs() - drawnAtMs < pauseMs) return
      drawnAtMs = nowMs()
      const share = Math.min(1, done / total)
      const percent = `${Math.floor(share * 100)}%`.padStart(4)
      const text = output.isTTY
        ? `${WIPE_LINE}${name} ${bar(share)}${percent} ${label}`
        : `${name}${percent} ${label}\n`
      output.write(text)
    },
    end: () => output.isTTY && output.write(WIPE_LINE),
  }
}

function bar(share: number): string {
  const full = Math.round(share * BAR_WIDTH)
  return '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full)
}
