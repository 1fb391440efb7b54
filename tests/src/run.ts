/**
 * `npm test`: starts one test run and makes sure that nothing of it is left behind. Arguments go to vitest:
 * `npm test -- --project bloom`.
 *
 * The run has its own process group, because vitest's workers and the servers they start outlive a parent that is interrupted.
 * So the whole group gets the signal to stop, and after a while it is killed.
 */
import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const STOP_MS_MAX = 5_000
const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

const testRun = fileURLToPath(new URL('./runner/test-run.js', import.meta.url))
const child = spawn(process.execPath, [testRun, ...process.argv.slice(2)], {
  stdio: ['ignore', 'inherit', 'inherit'],
  detached: true,
})
let isStopping = false

for (const [signal, number] of Object.entries(SIGNALS)) {
  process.on(signal, () => {
    if (!isStopping) stop(signal as keyof typeof SIGNALS).finally(() => process.exit(128 + number))
  })
}

child.once('exit', (code, signal) => {
  if (isStopping) return
  if (code === null) console.error(`${signal} ended the test run before it could count its tests. Run it again.`)
  process.exitCode = code ?? 1
})

async function stop(signal: NodeJS.Signals): Promise<void> {
  isStopping = true
  const deadlineMs = performance.now() + STOP_MS_MAX
  let isAlive = signalGroup(signal)
  while (isAlive && performance.now() < deadlineMs) {
    await delay(20)
    isAlive = signalGroup(0)
  }
  if (isAlive) signalGroup('SIGKILL')
}

/** Returns false when the group is empty. */
function signalGroup(signal: NodeJS.Signals | 0): boolean {
  try {
    return child.pid !== undefined && process.kill(-child.pid, signal)
  } catch {
    return false
  }
}
