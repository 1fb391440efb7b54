/**
 * Ctrl-C, `kill` and a closed terminal stop the server in order; a second signal forces it. The end of the npm that started it
 * also stops it: npm passes a signal on to the shell in between, and the shell ends without signalling the server.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** One Ctrl-C can arrive twice: from the terminal, and passed on by npm. */
const SAME_MS = 300
const LOOK_MS = 250

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
    if (process.env.npm_lifecycle_event !== undefined) whenOrphaned(() => process.emit('SIGTERM', 'SIGTERM'))
  })
  return { asked }
}

function whenOrphaned(act: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    act()
  }, LOOK_MS).unref()
}
