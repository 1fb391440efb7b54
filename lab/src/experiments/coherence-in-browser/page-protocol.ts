/** What the page and whoever drives it tell each other. */
import type { Source } from '@freshet/cli/dist/page/browser/tally.js'

export type ReaderKind = 'session' | 'plain'

export interface PageSettings {
  readonly seed: number
  /** How the sessions of this page learn of changes, one session for each. */
  readonly refreshes: readonly ('on-demand' | 'poll' | 'push')[]
  /** What stands between the page and the server, for the visitor. */
  readonly way: readonly string[]
  /** What is written here is told apart from what others write. */
  readonly firstNumber: number
}

interface StepBase {
  /** Which of the page's readers. */
  readonly reader: number
  /** By the page's clock. */
  readonly timeMs: number
}

export interface BeginStep extends StepBase {
  readonly kind: 'begin'
  readonly read: number
  readonly id: string
  readonly what: string
  /** How old the mode of the read lets it be. */
  readonly ageMs: number
}

export interface EndStep extends StepBase {
  readonly kind: 'end'
  readonly read: number
  /** Path and query. */
  readonly url: string
  /** Undefined if there is no such object. */
  readonly found: { readonly version: number; readonly number: number } | undefined
}

/** A read that got no answer. */
export interface FailStep extends StepBase {
  readonly kind: 'fail'
  readonly read: number
  readonly message: string
}

export interface WroteStep extends StepBase {
  readonly kind: 'wrote'
  readonly id: string
  readonly position: number
  readonly number: number
}

/** In the order in which they happened: what a reader had seen before a read began is what was told before. */
export type Step = BeginStep | EndStep | FailStep | WroteStep

export type SourceCounts = Readonly<Record<Source, number>>

/** How the reads were answered so far, and the requests for them: two reads may share one, and one may take two. */
export interface PageCounts {
  readonly reads: Readonly<Record<ReaderKind, SourceCounts>>
  readonly requests: SourceCounts
}

export interface Verdict {
  readonly checked: number
  readonly stale: number
}

export interface LoadPage {
  now(): number
  /** Says what kinds its readers are, by their number. */
  start(settings: PageSettings): readonly ReaderKind[]
  /** The steps since it was last asked. */
  take(): readonly Step[]
  counts(): PageCounts
  showVerdicts(verdicts: Readonly<Record<ReaderKind, Verdict>>): void
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>
}

/** The page's property of this name is a LoadPage. */
export const LOAD_PAGE = 'freshetLoadPage'
