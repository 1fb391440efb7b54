/**
 * Index entries as keys of a node, in the order of their bytes. A key is text without characters below 3, so each byte becomes
 * the character 3 above it:
 *
 *     00 00 00 07 40 61      U+0003 U+0003 U+0003 U+000A U+0043 U+0064
 *
 * Keys have a size limit, which the longest entries exceed. The text of such an entry is cut, and CUT and a hash follow; the
 * entry's bytes become the body. Entries that are cut at the same place are in no order: readers sort them. They follow all
 * other entries with the same beginning, as CUT is above every character of the text.
 */
import { createHash } from 'node:crypto'
import type { StoredEntry, Write } from '@freshet/core/store'
import type { EntriesRange } from '@freshet/store/engine'
import { NAME_BYTES_MAX } from './node-keys.js'

export const ENTRIES = '.ring/entries'
const OFFSET = 3
const CUT = '\u0200'
const AFTER_CUT = '\u0201'
const NO_BYTES = new Uint8Array()

export function entryWrite(entry: Buffer, isThere: boolean): Write {
  const text = spell(entry)
  const begin = cut(text)
  const isCut = begin.length < text.length
  const id = isCut ? `${begin}${CUT}${createHash('sha256').update(entry).digest('hex')}` : text
  const key = `${ENTRIES}/${id}`
  if (!isThere) return { key, delete: true }
  return { key, contentType: 'application/octet-stream', body: isCut ? entry : NO_BYTES }
}

/** The entry that a node holds under an id. */
export function entryIn({ id, body }: Pick<StoredEntry, 'id' | 'body'>): Buffer {
  return isCutId(id) ? Buffer.from(body) : Buffer.from(Array.from(id, each => each.charCodeAt(0) - OFFSET))
}

/** Whether the entries next to this one may be in no order. */
export function isCutId(id: string): boolean {
  return id.includes(CUT)
}

/** From `low` up to, not including, `high`: all entries of a range, and perhaps others. */
export function idsOf({ low, high, after, isDescending }: Omit<EntriesRange, 'limit'>): {
  readonly low: string
  readonly high: string
} {
  const text = spell(isDescending && after ? after : high)
  const begin = cut(text)
  return {
    low: cut(spell(!isDescending && after ? after : low)),
    high: begin.length < text.length ? `${begin}${AFTER_CUT}` : text,
  }
}

export function isInRange(entry: Buffer, { low, high, after, isDescending }: Omit<EntriesRange, 'limit'>): boolean {
  if (entry.compare(low) < 0 || entry.compare(high) >= 0) return false
  const order = after === undefined ? 1 : entry.compare(after)
  return after === undefined || (isDescending ? order < 0 : order > 0)
}

function spell(entry: Buffer): string {
  return String.fromCharCode(...Array.from(entry, byte => byte + OFFSET))
}

/** The longest beginning of the text that fits into a key. */
function cut(text: string): string {
  if (2 * text.length <= NAME_BYTES_MAX) return text
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    bytes += text.charCodeAt(i) < 0x80 ? 1 : 2
    if (bytes > NAME_BYTES_MAX) return text.slice(0, i)
  }
  return text
}
