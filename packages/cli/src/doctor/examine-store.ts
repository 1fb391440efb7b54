/**
 * `freshet doctor --store URL`: whether the engine's settings keep what is acknowledged, and how fast it answers from here. Nothing
 * is written but what opening a store writes. Exit code 0: all is well; 1: something could be lost; 2: it could not be opened.
 */
import { FreshetError } from '@freshet/protocol'
import { withoutPassword } from '../config/store-kind.js'
import { openNamedStore } from '../serve/open-store.js'
import type { StoreDoctorLine } from './doctor-line.js'

const ASKED = 50

export async function examineStore({ store: name, isJson }: StoreDoctorLine): Promise<number> {
  const warnings: string[] = []
  try {
    const store = await openNamedStore(name, warning => warnings.push(warning))
    try {
      const { durability, queries } = store.supports
      const roundTripMs = await medianMs(async () => store.position())
      const report = { store: withoutPassword(name), durability, queries, roundTripMs, warnings }
      process.stdout.write(isJson ? `${JSON.stringify(report)}\n` : textOf(report))
      return durability === 'disk' && warnings.length === 0 ? 0 : 1
    } finally {
      await store.close()
    }
  } catch (error) {
    if (!(error instanceof FreshetError)) throw error
    console.error(error.message)
    return 2
  }
}

interface Report {
  readonly store: string
  readonly durability: string
  readonly queries: boolean
  readonly roundTripMs: number
  readonly warnings: readonly string[]
}

function textOf({ store, durability, queries, roundTripMs, warnings }: Report): string {
  const kept = durability === 'disk' ? 'is on disk' : 'may be lost when the machine goes down'
  return [
    `${store}: what is acknowledged ${kept}; it answers in ${roundTripMs} ms${queries ? '' : '; no queries'}.`,
    ...warnings.map(warning => `- ${warning}`),
    warnings.length === 0 ? 'Nothing to change.' : `${warnings.length} to change.`,
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
