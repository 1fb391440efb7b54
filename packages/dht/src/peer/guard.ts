/**
 * One vote on which peer may give timestamps for a key. Every member of the roster is a guard of every key; a majority of them
 * makes a peer the key's holder, for a tenure, and remembers the highest timestamp that is known to be committed. See
 * `tenures.ts`.
 *
 * Invariants of a guard:
 * - it grants a tenure once, to one peer, and only a tenure that is higher than all it granted before;
 * - it grants none to another peer while its promise to the last one runs, unless that peer has resigned;
 * - it records nothing for a tenure that is not the last it granted;
 * - what it granted and recorded survives a crash. When promises began does not, so after a restart each runs in full again.
 *
 * A new roster: as soon as a guard has it, it no longer votes under the one before. Before it votes under the new one it reads
 * the ledgers of a majority of the old members that have it too. Anything recorded under the old roster was recorded by a
 * majority of it, so afterwards every guard that votes has it. Hence the next roster may come as soon as a majority votes.
 */
import type { Calls, Then } from './calls.js'
import type { Answer, GuardAnswer, LedgerEntry, LedgerLine, Question, Roster } from './messages.js'
import type { Peer } from './ring.js'
import { laterOf, NO_TIMESTAMP } from './timestamp.js'

const NO_PEER = -1
const NEW_KEY: LedgerEntry = { tenure: 0, holder: NO_PEER, claim: 0, committed: NO_TIMESTAMP }
/** How often missing ledgers are requested again. */
const RETRY_TICKS = 2

/** What survives a crash. */
export interface GuardMemory {
  readonly ledger: Map<string, LedgerEntry>
  roster: Roster
  /** Whether the ledgers of the members before have been read. */
  isReady: boolean
}

export function createGuardMemory(): GuardMemory {
  return { ledger: new Map(), roster: { version: 0, members: [], before: [] }, isReady: false }
}

export class Guard {
  readonly #calls: Calls
  readonly #memory: GuardMemory
  readonly #promiseMs: number
  readonly #startedMs: number
  readonly #promisedUntilMs = new Map<string, number>()
  #ticks = 0

  constructor(calls: Calls, memory: GuardMemory, promiseMs: number, nowMs: number) {
    this.#calls = calls
    this.#memory = memory
    this.#promiseMs = promiseMs
    this.#startedMs = nowMs
  }

  get roster(): Roster {
    return this.#memory.roster
  }

  /** Whether it votes. */
  get isReady(): boolean {
    return this.#memory.isReady
  }

  entryOf(key: string): LedgerEntry {
    return this.#memory.ledger.get(key) ?? NEW_KEY
  }

  /** How long its promise about this key still runs. */
  promisedForMs(key: string, nowMs: number): number {
    if (this.entryOf(key) === NEW_KEY) return 0
    return Math.max(0, (this.#promisedUntilMs.get(key) ?? this.#startedMs + this.#promiseMs) - nowMs)
  }

  /** The membership has changed. */
  adopt(roster: Roster, nowMs: number): void {
    if (roster.version <= this.roster.version) return
    this.#memory.roster = roster
    this.#memory.isReady = roster.before.length === 0
    this.#readLedgers(nowMs)
  }

  tick(nowMs: number): void {
    if (!this.isReady && this.roster.members.length > 0 && ++this.#ticks % RETRY_TICKS === 0) this.#readLedgers(nowMs)
  }

  answer(from: Peer, question: Question, nowMs: number): Answer {
    switch (question.kind) {
      case 'claim':
        return this.#vote(question.version, question.key) ?? this.#claim(from, question, nowMs)
      case 'hold':
        return this.#vote(question.version, question.key) ?? this.#hold(from, question, nowMs)
      case 'release':
        return this.#release(from, question, nowMs)
      case 'roster':
        this.adopt({ version: question.version, members: question.members, before: question.before }, nowMs)
        return {}
      case 'ledger':
        return this.roster.version >= question.version ? { entries: this.#lines(nowMs) } : {}
      default:
        return undefined
    }
  }

  /** Undefined if it may vote under this version of the roster. */
  #vote(version: number, key: string): GuardAnswer | undefined {
    if (version === this.roster.version && this.isReady) return undefined
    return { isGranted: false, isVoting: false, tenure: this.entryOf(key).tenure, leftMs: 0, roster: this.roster }
  }

  #refusal(key: string, nowMs: number): GuardAnswer {
    const leftMs = this.promisedForMs(key, nowMs)
    return { isGranted: false, isVoting: true, tenure: this.entryOf(key).tenure, leftMs, roster: this.roster }
  }

  #claim(from: Peer, { key, tenure, after, claim }: Question<'claim'>, nowMs: number): GuardAnswer {
    const entry = this.entryOf(key)
    const hasResigned = after !== undefined && entry.tenure <= after
    const isFree = entry.holder === from || hasResigned || this.promisedForMs(key, nowMs) === 0
    if (tenure <= entry.tenure || !isFree) return this.#refusal(key, nowMs)
    return this.#record(key, { tenure, holder: from, claim, committed: entry.committed }, nowMs)
  }

  #hold(from: Peer, { key, tenure, committed }: Question<'hold'>, nowMs: number): GuardAnswer {
    const entry = this.entryOf(key)
    if (entry.tenure !== tenure || entry.holder !== from) return this.#refusal(key, nowMs)
    return this.#record(key, { ...entry, committed: laterOf(entry.committed, committed) }, nowMs)
  }

  #record(key: string, entry: LedgerEntry, nowMs: number): GuardAnswer {
    this.#memory.ledger.set(key, entry)
    this.#promisedUntilMs.set(key, nowMs + this.#promiseMs)
    return { isGranted: true, committed: entry.committed }
  }

  #release(from: Peer, { key, claim }: Question<'release'>, nowMs: number): object {
    const entry = this.entryOf(key)
    if (entry.claim === claim && entry.holder === from) this.#promisedUntilMs.set(key, nowMs)
    return {}
  }

  #lines(nowMs: number): LedgerLine[] {
    return [...this.#memory.ledger].map(([key, entry]) => ({ key, ...entry, leftMs: this.promisedForMs(key, nowMs) }))
  }

  #readLedgers(nowMs: number): void {
    const { roster } = this
    const needed = Math.floor(roster.before.length / 2) + 1
    let read = 0
    const take: Then<Answer<'ledger'> | undefined> = (answer, laterMs) => {
      if (answer?.entries === undefined || this.roster.version !== roster.version || this.isReady) return
      for (const line of answer.entries) this.#merge(line, laterMs)
      if (++read === needed) this.#memory.isReady = true
    }
    for (const member of roster.before) {
      this.#calls.ask(member, { kind: 'ledger', version: roster.version }, nowMs, take)
    }
  }

  #merge(line: LedgerLine, nowMs: number): void {
    const entry = this.entryOf(line.key)
    const ownLeftMs = this.promisedForMs(line.key, nowMs)
    const [higher, lowerLeftMs] = line.tenure > entry.tenure ? [line, ownLeftMs] : [entry, line.leftMs]
    // The highest tenure may be one that only a minority granted, while the promise of the majority still runs. That promise must
    // not be taken for a promise to the other peer, which could then have the next tenure at once.
    const isDisputed = line.holder !== entry.holder && lowerLeftMs > 0
    this.#memory.ledger.set(line.key, {
      tenure: higher.tenure,
      holder: isDisputed ? NO_PEER : higher.holder,
      claim: isDisputed ? 0 : higher.claim,
      committed: laterOf(entry.committed, line.committed),
    })
    this.#promisedUntilMs.set(line.key, nowMs + Math.max(ownLeftMs, line.leftMs))
  }
}
