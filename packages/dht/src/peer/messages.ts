/**
 * What peers say to each other. Everything is asked and answered; what gets no answer in time is taken as not said. All of it
 * is plain JSON, so that it travels in a simulator as it is and over TCP as text.
 */
import type { Peer, RingPosition } from './ring.js'
import type { Timestamp } from './timestamp.js'

/** A replica: what was written, and when. */
export interface Copy {
  readonly stamp: Timestamp
  readonly value: unknown
}

/** What goes to the next responsible of a part of the ring. */
export interface Handed {
  readonly counters: readonly HandedCounter[]
  readonly copies: readonly (readonly [slot: string, copy: Copy])[]
}

export interface HandedCounter {
  readonly key: string
  readonly last: Timestamp
  readonly committed: Timestamp
}

/**
 * The membership: who votes. One authority makes them, one after the other: each differs from the one before by one member at
 * most, and is made only when a majority of the one before votes under it.
 */
export interface Roster {
  readonly version: number
  readonly members: readonly Peer[]
  /** Of the version before. */
  readonly before: readonly Peer[]
}

/** What a guard has promised about a key, and the highest timestamp that it was told was committed. */
export interface LedgerEntry {
  readonly tenure: number
  readonly holder: Peer
  /** Which of the holder's claims it was: see `release`. */
  readonly claim: number
  readonly committed: Timestamp
}

export interface Around {
  readonly predecessor: Peer | undefined
  readonly successors: readonly Peer[]
}

/** By kind: what is asked, and what is answered. Of what concerns a position, the answer is undefined if it is not ours. */
export interface Dialogue {
  /** Who is the first at or after the position, if I know; else who is nearer to it. */
  route: [{ position: RingPosition }, { owners: readonly Peer[]; nearer: readonly Peer[] }]
  around: [object, Around]
  /** I take you for my successor. */
  stabilise: [object, Around]
  join: [object, (Around & { readonly fingers: readonly Peer[]; readonly handed: Handed }) | undefined]
  /** I have joined between you and your successor. */
  follow: [object, object]
  leaving: [Around & { readonly handed: Handed }, object]
  hand: [Handed, object]
  get: [{ position: RingPosition; slot: string }, { copy?: Copy } | undefined]
  put: [{ position: RingPosition; slot: string; copy: Copy; isVersion?: boolean }, object | undefined]
  /** `messages` is what answering took in turn. */
  generate: [{ position: RingPosition; key: string }, { stamp?: Timestamp; messages: number } | undefined]
  last: [
    { position: RingPosition; key: string },
    { committed?: Timestamp; pending?: Timestamp; messages: number } | undefined,
  ]
  commit: [{ position: RingPosition; key: string; stamp: Timestamp }, { isCommitted: boolean } | undefined]
  /** I was the responsible before I failed, and had come to this. */
  correct: [{ position: RingPosition; key: string; last: Timestamp }, object | undefined]
  /** `claim` is a number that the asker uses once. */
  claim: [{ version: number; key: string; tenure: number; claim: number; after?: number }, GuardAnswer]
  hold: [{ version: number; key: string; tenure: number; committed: Timestamp }, GuardAnswer]
  /** That claim came to nothing. By its number and not its tenure, which may be claimed again while this is on its way. */
  release: [{ key: string; claim: number }, object]
  roster: [Roster, object]
  ledger: [{ version: number }, { entries?: readonly LedgerLine[] }]
}

/** `leftMs` is how long the promise to its holder lasts yet. */
export interface LedgerLine extends LedgerEntry {
  readonly key: string
  readonly leftMs: number
}

export type GuardAnswer =
  | { readonly isGranted: true; readonly committed: Timestamp }
  | {
      readonly isGranted: false
      /** False if it does not vote now, since the membership is just changing: ask again soon. */
      readonly isVoting: boolean
      readonly tenure: number
      readonly leftMs: number
      readonly roster: Roster
    }

export type Kind = keyof Dialogue
export type Question<K extends Kind = Kind> = K extends Kind ? { readonly kind: K } & Dialogue[K][0] : never
export type Answer<K extends Kind = Kind> = Dialogue[K][1]

export type Message =
  | { readonly call: number; readonly question: Question }
  | { readonly answers: number; readonly answer: Answer }
