/** What a probe found, in words; and how bad it is. */
import type { Scene } from './scene.js'

/**
 * good: as it should be. harmless: not so, but nobody who reads with Freshet notices. slower: more requests, or later
 * news, never anything stale. unsafe: nothing to do with staleness, but somebody may see or do what they should not. fatal:
 * readers get stale data, or none. undecided: could not be found out.
 */
export const EFFECTS = ['fatal', 'unsafe', 'slower', 'harmless', 'undecided', 'good'] as const
export type Effect = (typeof EFFECTS)[number]

export interface Outcome {
  readonly effect: Effect
  /** What was seen, as a sentence. */
  readonly saw: string
  /** What follows from it for readers; empty where all is well. */
  readonly means?: string
  /** Where the lines to change are not those of the fact in general. */
  readonly adviceOf?: string
}

export interface Finding extends Outcome {
  readonly fact: string
  /** What is so when all is well. */
  readonly claim: string
}

export interface Probe {
  /** Stable: in the JSON, and in the advice. */
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

/** What happened to one copy cannot be told where the next read may be answered from another. */
export const IN_TURN: Outcome = undecided('Several caches answer in turn. Ask each of them: --through its own address.')

/** What most probes must say where nothing is kept. */
export const NOTHING_KEPT: Outcome = undecided('No copy was kept that could have been looked at.')
