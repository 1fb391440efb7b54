/**
 * Ends by `exit` rather than by a signal's default, so that those who have started something take it along: caches,
 * engines, browsers.
 */
const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

export function endOnSignals(): void {
  for (const [signal, code] of Object.entries(CODES)) process.once(signal, () => process.exit(code))
}
