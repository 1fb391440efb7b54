/** Waits for a condition up to a deadline; then throws an error that names the condition. */
import { setTimeout as delay } from 'node:timers/promises'

const MS_MAX = 60_000

export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + MS_MAX
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`This did not happen within ${MS_MAX} ms: ${what}.`)
    await delay(5)
  }
}
