/**
 * The requests to the nodes that remember an agreement, and their replies. A node is not a program: it is a store that is read,
 * and that is written on a condition ("active disk Paxos", Chockler and Malkhi 2002). It keeps
 *
 *     promise   the highest ballot that it has promised: a writer names the version that the promise had
 *     slots     for each slot the entry accepted last, and in which ballot: a writer names the version of the promise
 *
 * The version of a promise shows that no other proposer has been promised anything since. It is never the same twice, not even
 * after a node has lost its contents. That is how a reply of a node that was emptied, and filled again, differs from an earlier
 * one.
 *
 * A request may be lost, late, or done twice.
 */
import type { Ballot } from './ballot.js'

/** What a slot is meant to hold. */
export interface Entry<Value> {
  readonly id: string
  /** The id of the entry in the slot before, which was decided when this one was proposed. */
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

/** What a node holds, in one state. */
export interface NodeView<Value> {
  /** Undefined: the node is not a member, or has lost its memory. Then it has no voice. */
  readonly promised: Promised | undefined
  /** From the first requested slot on, at most `SLOTS_PER_READ`. */
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
  /** The version had changed. */
  | { readonly kind: 'refused' }
  /** No answer: it may have been done, or may still be. */
  | { readonly kind: 'lost' }
