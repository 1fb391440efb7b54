/** The messages between the page and the process that drives it. */
import type { Source } from '@freshet/cli/dist/page/browser/tally.js'

export type ReaderKind = 'session' | 'plain'

export interface PageSettings {
  readonly seed: number
  /** How the sessions of this page learn of changes, one session for each. */
  readonly refreshes: readonly ('on-demand' | 'poll' | 'push')[]
  /** The hops between the page and the server, as shown to the visitor. */
  readonly way: readonly string[]
  /** Numbers from here on mark what this page writes, so that it differs from what others write. */
  readonly firstNumber: number
}

interface StepBase {
  /** The number of the reader in the page. */
  readonly reader: number
  /** Time by the page's clock. */
  readonly timeMs: number
}

export interface BeginStep extends StepBase {
  readonly kind: 'begin'
  readonly read: number
  readonly id: string
  readonly what: string
  /** The largest age that the mode of the read allows. */
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

/** In the order in which they happened: a reader had seen the results of all steps before the read began. */
export type Step = BeginStep | EndStep | FailStep | WroteStep

export type SourceCounts = Readonly<Record<Source, number>>

/** How the reads were answered so far, and the requests for them: two reads may share a request, and a read may take two. */
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
  /** Starts the readers. Returns the kind of each, by its number. */
  start(settings: PageSettings): readonly ReaderKind[]
  /** The steps since the last call. */
  take(): readonly Step[]
  counts(): PageCounts
  showVerdicts(verdicts: Readonly<Record<ReaderKind, Verdict>>): void
  /** Resolves when no read or write is under way. */
  stop(): Promise<void>
}

/** The page's property of this name is a LoadPage. */
export const LOAD_PAGE = 'freshetLoadPage'
