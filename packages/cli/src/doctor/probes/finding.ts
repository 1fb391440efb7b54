/** What a probe found, in words, and how serious it is. */
import type { Scene } from './scene.js'

/**
 * good: as it should be. harmless: not as it should be, but Freshet clients are not affected. slower: more requests or later
 * updates, but nothing stale. unsafe: nothing is stale, but a client may see or do what it should not. fatal: readers get stale
 * data, or no data. undecided: could not be determined.
 */
export const EFFECTS = ['fatal', 'unsafe', 'slower', 'harmless', 'undecided', 'good'] as const
export type Effect = (typeof EFFECTS)[number]

export interface Outcome {
  readonly effect: Effect
  /** What the probe saw, as a sentence. */
  readonly saw: string
  /** The consequence for readers; absent if all is well. */
  readonly means?: string
  /** Another fact whose advice applies instead. */
  readonly adviceOf?: string
}

export interface Finding extends Outcome {
  readonly fact: string
  /** What is true when all is well. */
  readonly claim: string
}

export interface Probe {
  /** A stable name, used in the JSON and in the advice. */
  readonly fact: string
  readonly claim: string
  examine(scene: Scene): Promise<Outcome>
}

export function good(saw: string): Outcome {
  return { effect: 'good', saw }
}

export function undecided(saw: string): Outcome {
  return { effect: 'undecided', saw }
}

export function harmless(saw: string, means: string): Outcome {
  return { effect: 'harmless', saw, means }
}

export function slower(saw: string, means: string): Outcome {
  return { effect: 'slower', saw, means }
}

export function unsafe(saw: string, means: string): Outcome {
  return { effect: 'unsafe', saw, means }
}

export function fatal(saw: string, means: string): Outcome {
  return { effect: 'fatal', saw, means }
}

/** If the next read may be answered from another copy, the fate of one copy is unknown. */
export const IN_TURN: Outcome = undecided(
  'Several caches answer in turn. Examine each of them: --through its own address.',
)

/** The outcome of most probes if the cache stores nothing. */
export const NOTHING_KEPT: Outcome = undecided('The cache stored no copy to examine.')
