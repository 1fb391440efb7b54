/**
 * What is asked of the nodes that remember an agreement, and what they answer. A node is no program: it is a store that is read, and that
 * is written to on a condition ("active disk Paxos", Chockler and Malkhi 2002). It keeps
 *
 *     promise   the highest ballot that it has promised: whoever writes it names the version that it had
 *     slots     for each slot the entry accepted last, and in which ballot: whoever writes one names the version of the promise
 *
 * The version of a promise stands for "nobody has promised anything else since". It is never the same twice, also not after a node has lost
 * what it had: that is what makes an answer of a node that was emptied, and filled again, differ from one of before.
 *
 * Whatever is asked may be lost, late, or done twice.
 */
import type { Ballot } from './ballot.js'

/** What a slot is to hold. */
export interface Entry<Value> {
  readonly id: string
  /** The id of the entry in the slot before, which was decided when this was proposed. */
  readonly previous: string
  readonly value: Value
}

export interface Accepted<Value> {
  readonly ballot: Ballot
  readonly entry: Entry<Value>
}

export interface Promised {
  readonly ballot: Ballot
  readonly version: number
}

/** What a node has, of one state. */
export interface NodeView<Value> {
  /** None: it does not belong, or has lost what it remembered. It has no voice then. */
  readonly promised: Promised | undefined
  /** From the first slot asked for on, `SLOTS_PER_READ` at most. */
  readonly slots: ReadonlyMap<number, Accepted<Value>>
  /** Slots up to this one were dropped, long after they were decided; -1: none was. Some node of every majority knows. */
  readonly droppedTo: number
}

export const SLOTS_PER_READ = 8

export type Ask<Value> =
  | { readonly kind: 'read'; readonly node: number; readonly first: number }
  | { readonly kind: 'promise'; readonly node: number; readonly ballot: Ballot; readonly version: number }
  | AcceptAsk<Value>

export interface AcceptAsk<Value> {
  readonly kind: 'accept'
  readonly node: number
  /** Of the promise. */
  readonly version: number
  readonly slot: number
  readonly accepted: Accepted<Value>
}

export type Reply<Value> =
  | { readonly kind: 'view'; readonly view: NodeView<Value> }
  /** It was written. `version`: that of a promise from now on. */
  | { readonly kind: 'done'; readonly version: number }
  /** The version was another. */
  | { readonly kind: 'refused' }
  /** No answer: it may have been done, or may still be. */
  | { readonly kind: 'lost' }
