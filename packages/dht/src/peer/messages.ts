/**
 * The messages between peers. Everything is a question with an answer; a question without an answer in time counts as not
 * answered. All messages are plain JSON, so they travel unchanged in a simulator, and as text over TCP.
 */
import type { Peer, RingPosition } from './ring.js'
import type { Timestamp } from './timestamp.js'

/** A replica: the written value, and its timestamp. */
export interface Copy {
  readonly stamp: Timestamp
  readonly value: unknown
}

/** What goes to the next peer responsible for a part of the ring. */
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
 * The membership: which peers vote. One authority makes rosters, one after the other: each differs from the one before by at
 * most one member, and is made only when a majority of the one before votes under it.
 */
export interface Roster {
  readonly version: number
  readonly members: readonly Peer[]
  /** The members of the version before. */
  readonly before: readonly Peer[]
}

/** A guard's promise about a key, and the highest timestamp that was reported to it as committed. */
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

/**
 * By kind: the question, and its answer. For a question about a position, the answer is undefined if the position is not ours.
 */
export interface Dialogue {
  /** The first peer at or after the position, if I know it; otherwise peers nearer to it. */
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
  /** `messages`: how many messages the answer took in turn. */
  generate: [{ position: RingPosition; key: string }, { stamp?: Timestamp; messages: number } | undefined]
  last: [
    { position: RingPosition; key: string },
    { committed?: Timestamp; pending?: Timestamp; messages: number } | undefined,
  ]
  commit: [{ position: RingPosition; key: string; stamp: Timestamp }, { isCommitted: boolean } | undefined]
  /** I was responsible before I failed, and had reached this timestamp. */
  correct: [{ position: RingPosition; key: string; last: Timestamp }, object | undefined]
  /** `claim` is a number that the asker uses once. */
  claim: [{ version: number; key: string; tenure: number; claim: number; after?: number }, GuardAnswer]
  hold: [{ version: number; key: string; tenure: number; committed: Timestamp }, GuardAnswer]
  /** That claim failed. By its number and not its tenure, which may be claimed again while this message is on its way. */
  release: [{ key: string; claim: number }, object]
  roster: [Roster, object]
  ledger: [{ version: number }, { entries?: readonly LedgerLine[] }]
}

/** `leftMs` is how long the promise to its holder still lasts. */
export interface LedgerLine extends LedgerEntry {
  readonly key: string
  readonly leftMs: number
}

export type GuardAnswer =
  | { readonly isGranted: true; readonly committed: Timestamp }
  | {
      readonly isGranted: false
      /** False if it does not vote now, because the membership is changing: ask again soon. */
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
