/**
 * `freshet doctor --store URL`: whether the engine's settings keep acknowledged writes, how fast it answers from here, and which
 * of the named replicas answer. The folder of an embedded store is first examined for damage, as by `freshet check store`. The
 * doctor writes nothing except what opening a store writes. Exit code 0: all is well; 1: something could be lost or is damaged,
 * or a replica is not read from; 2: the store could not be opened.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ReadCount, Store } from '@freshet/core/store'
import { examineEmbeddedStore } from '@freshet/engines/lmdb'
import { FreshetError } from '@freshet/protocol'
import { isEngine, withoutPassword } from '../config/store-kind.js'
import { openNamedStore } from '../places/open-store.js'
import { ProgressLine } from '../terminal/progress.js'
import { tellFailure } from '../terminal/tell-failure.js'
import type { StoreDoctorLine } from './doctor-line.js'

const ASKED = 50
const DAMAGES_SHOWN = 10
/** How long to wait until all replicas are used. */
const REPLICAS_MS_MAX = 3000

export async function examineStore({ store: name, isJson }: StoreDoctorLine): Promise<number> {
  const warnings: string[] = []
  try {
    if (!isEngine(name)) warnings.push(...(await damagesOf(name)))
    const store = await openNamedStore(name, warning => warnings.push(warning))
    try {
      const { durability } = store.supports
      const roundTripMs = await medianMs(async () => store.position())
      const replicas = await replicasOf(store)
      const report = { store: withoutPassword(name), durability, roundTripMs, replicas, warnings }
      process.stdout.write(isJson ? `${JSON.stringify(report)}\n` : textOf(report))
      return durability === 'disk' && warnings.length === 0 && replicas.every(({ isUsed }) => isUsed) ? 0 : 1
    } finally {
      await store.close()
    }
  } catch (error) {
    if (!(error instanceof FreshetError)) throw error
    tellFailure(error, isJson)
    return 2
  }
}

/** The damage in the folder of an embedded store. */
async function damagesOf(path: string): Promise<readonly string[]> {
  const progress = new ProgressLine()
  const onProgress = (done: number, total: number) => progress.show({ what: 'examining, bytes', done, total })
  const { damages } = await examineEmbeddedStore({ path, onProgress })
  progress.clear()
  const more = damages.length > DAMAGES_SHOWN ? [`and ${damages.length - DAMAGES_SHOWN} more: freshet check store`] : []
  return [...damages.slice(0, DAMAGES_SHOWN).map(({ what }) => what), ...more]
}

interface Replica {
  readonly place: string
  readonly isUsed: boolean
  readonly answerMs: number
}

/** Waits until all replicas are used, or the time is up. */
async function replicasOf(store: Store): Promise<readonly Replica[]> {
  const counts = () => (store.readCounts?.() ?? []).filter(({ isUsed }) => isUsed !== undefined)
  const deadlineMs = performance.now() + REPLICAS_MS_MAX
  while (counts().some(({ isUsed }) => !isUsed) && performance.now() < deadlineMs) await delay(50)
  return counts().map(toReplica)
}

function toReplica({ source, isUsed = false, answerMs = 0 }: ReadCount): Replica {
  return { place: source, isUsed, answerMs: Number(answerMs.toFixed(2)) }
}

interface Report {
  readonly store: string
  readonly durability: string
  readonly roundTripMs: number
  readonly replicas: readonly Replica[]
  readonly warnings: readonly string[]
}

function textOf({ store, durability, roundTripMs, replicas, warnings }: Report): string {
  const toChange = warnings.length + replicas.filter(({ isUsed }) => !isUsed).length
  const kept = durability === 'disk' ? 'are on disk' : 'may be lost when the machine goes down'
  return [
    `${store}: acknowledged writes ${kept}; it answers in ${roundTripMs} ms.`,
    ...replicas.map(({ place, isUsed, answerMs }) =>
      isUsed ? `Replica ${place}: answers in ${answerMs} ms.` : `- Replica ${place}: not read from.`,
    ),
    ...warnings.map(warning => `- ${warning}`),
    toChange === 0 ? 'Nothing to change.' : `To change: ${toChange}.`,
    '',
  ].join('\n')
}

async function medianMs(ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < ASKED; i++) {
    const startMs = performance.now()
    await ask()
    times.push(performance.now() - startMs)
  }
  return Number(times.sort((a, b) => a - b)[ASKED / 2]!.toFixed(2))
}
