/**
 * What a node keeps in its own store, and under which keys. Objects have their own keys; everything else is in the namespace
 * `.ring`. No object can be in it, since names begin with a letter or a digit. The word ring is part of the format; everywhere
 * else a ring is called a quorum.
 *
 *     .ring/node/voice      Voice, JSON: the quorum that it belongs to, and what it has promised. Absent: it has no voice
 *     .ring/node/applied    Applied, JSON: the slot up to which the log is in its rows. Absent: its rows are of no state
 *     .ring/node/first      First, JSON: everything before this slot was dropped. Absent: nothing was
 *     .ring/node/clocks     numbers that only grow, JSON
 *     .ring/node/rebuilding  the quorum, JSON, while other servers restore what the node has lost
 *     .ring/log/SLOT        what it has accepted, `record-bytes.ts`
 *     .ring/buckets/NAME    the position of the last change, JSON
 *     .ring/clients/NAME, .ring/operations/NAME      [name, record, stamp], JSON
 *     .ring/memory/NAME     bytes
 *     .ring/indexes/BUCKET  its indexes: the bytes of `encodeIndexes`
 *     .ring/tags/NAME       the position of the last change that carries the tag, JSON
 *     .ring/entries/ENTRY   an index entry (`entry-keys.ts`)
 *     shop/products/42      an object's value, as `encodeValue` draws it
 */
import { createHash } from 'node:crypto'
import type { Ballot } from '@freshet/core/agreement'
import type { Key } from '@freshet/core/store'

export const VOICE = '.ring/node/voice'
export const APPLIED = '.ring/node/applied'
export const FIRST = '.ring/node/first'
export const CLOCKS = '.ring/node/clocks'
export const REBUILDING = '.ring/node/rebuilding'
const LOG = '.ring/log'
export const BUCKETS = '.ring/buckets'
export const INDEXES = '.ring/indexes'

export interface Voice {
  /** Drawn at random when the quorum was founded. */
  readonly ring: string
  /** The id of this node; no two nodes of a quorum have the same. */
  readonly node: string
  /** How many nodes the quorum has. */
  readonly of: number
  /** All nodes have the quorum's id: from now on there may be something to lose. */
  readonly isFounded: boolean
  readonly ballot: Ballot
}

export interface Applied {
  readonly slot: number
}

export interface First {
  readonly slot: number
}

const DIGITS = 15
/** LMDB, PostgreSQL and the other engines take keys of 1024 bytes. */
export const NAME_BYTES_MAX = 800

export function slotKey(slot: number): Key {
  return `${LOG}/${`${slot}`.padStart(DIGITS, '0')}`
}

export function rowKey(table: 'clients' | 'operations' | 'memory' | 'tags', name: string): Key {
  const text = encodeURIComponent(name)
  const isShort = text.length <= NAME_BYTES_MAX
  return `.ring/${table}/${isShort ? text : `#${createHash('sha256').update(name).digest('hex')}`}`
}

export function bucketKey(bucket: Key): Key {
  return `${BUCKETS}/${bucket}`
}

export function indexesKey(bucket: Key): Key {
  return `${INDEXES}/${bucket}`
}
