/** A real server in its own process, that answers late now and then, and can be killed. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '@freshet/engines/under-test/free-port'
import { endChild, forkQuietly } from '../harness/child-messages.js'
import type { SlowOriginMessage, SlowOriginSettings } from './slow-origin-process.js'

const PROCESS = fileURLToPath(new URL('../../dist/caches/slow-origin-process.js', import.meta.url))
/** A process takes long to start when dozens of others compete for the processor. */
const START_MS_MAX = 60_000

export interface SlowOrigin {
  readonly url: string
  /** How many objects and lists it has served, over all restarts. */
  readonly dataReads: number
  /** `kill -9`, and a new start over the same data, at the same address. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export type SlowOriginOptions = Omit<SlowOriginSettings, 'path' | 'port'>

/** The window is only slightly longer than the lifetime of copies, so changes leave it during a run. */
export const SHORT_WINDOW = { responseMsMax: 2000, slackMs: 1500, slotMs: 200, heartbeatMs: 100 }
/** Often enough that late answers coincide with changes. */
export const OFTEN_LATE = { lateShare: 0.1, lateMs: 300 }

const running = new Set<ChildProcess>()

export async function startSlowOrigin(options: SlowOriginOptions): Promise<SlowOrigin> {
  const path = mkdtempSync(join(tmpdir(), 'freshet-slow-origin-'))
  let pastReads = 0
  let reads = 0
  const port = await freePort()
  const start = () =>
    startProcess({ ...options, path, port }, dataReads => {
      reads = dataReads
    })
  let child = await start()
  return {
    url: `http://127.0.0.1:${port}`,
    get dataReads() {
      return pastReads + reads
    },
    restart: async () => {
      await endChild(child)
      pastReads += reads
      reads = 0
      child = await start()
    },
    stop: async () => {
      await endChild(child)
      rmSync(path, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** For `afterAll`: ends whatever a failed test has left behind. */
export async function endSlowOrigins(): Promise<void> {
  await Promise.all([...running].map(child => endChild(child)))
}

/** The process ends by itself when this one does. */
async function startProcess(settings: SlowOriginSettings, onReads: (dataReads: number) => void): Promise<ChildProcess> {
  const child = forkQuietly(PROCESS, JSON.stringify(settings))
  running.add(child)
  child.once('exit', () => running.delete(child))
  const listening = new Promise<string>(resolve => {
    child.on('message', (message: SlowOriginMessage) => {
      if (message === 'listening') resolve(message)
      else onReads(message.dataReads)
    })
  })
  const ended = once(child, 'exit').then(() => 'ended while starting')
  const late = delay(START_MS_MAX, `did not listen within ${START_MS_MAX} ms`, { ref: false })
  const outcome = await Promise.race([listening, ended, late])
  if (outcome === 'listening') return child
  await endChild(child)
  throw new Error(`The server over ${settings.path} ${outcome}.`)
}
