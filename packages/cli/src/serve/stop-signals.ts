/** Ctrl-C, `kill` and a closed terminal stop the server in order; the second one forces it. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** One Ctrl-C can arrive twice: from the terminal, and handed on by npm. */
const SAME_MS = 300

export interface StopSignals {
  /** Resolves with the first signal. */
  readonly asked: Promise<NodeJS.Signals>
}

export function watchStopSignals(force: () => void): StopSignals {
  let askedAtMs: number | undefined
  const asked = new Promise<NodeJS.Signals>(resolve => {
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (askedAtMs === undefined) {
          askedAtMs = performance.now()
          resolve(signal)
        } else if (performance.now() - askedAtMs > SAME_MS) force()
      })
    }
  })
  return { asked }
}
