/**
 * Ends by `exit` rather than by a signal's default, so that exit handlers stop what was started: caches, engines,
 * browsers.
 */
const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

export function endOnSignals(): void {
  for (const [signal, code] of Object.entries(CODES)) process.once(signal, () => process.exit(code))
}
