/**
 * Tags: what a query's result depends on. Every write and deletion carries, for each declared index and each prefix of its
 * fields, the values before and those after:
 *
 *     shop/products?category=["books"]
 *     shop/products?category,price=["books",10]
 *
 * So a reader that shows all books under 10 need only know when the first of these last changed. A missing field is written
 * as the bare word `missing`. A string longer than 200 bytes is cut there: a coarser tag changes more often than necessary,
 * never less. Arrays and objects have no tags, since no filter can demand equality with them.
 */
import type { Key } from '../names.js'
import type { Scalar } from './query.js'

export type Tag = string

/** Undefined: missing. */
export type TagValue = Scalar | undefined

const TEXT_BYTES_MAX = 200
const MISSING = 'missing'

export function tagOf(bucket: Key, fields: readonly string[], values: readonly TagValue[]): Tag {
  return `${bucket}?${fields.join(',')}=[${values.map(spell).join(',')}]`
}

export interface TagParts {
  readonly bucket: Key
  readonly fields: readonly string[]
  /** The value of each field, as the tag spells it. */
  readonly values: readonly string[]
}

const SPELLED_VALUE = /"(?:[^"\\]|\\.)*"|[^,"]+/g

/** The parts of a tag; undefined if the text is not a tag. */
export function partsOfTag(tag: Tag): TagParts | undefined {
  const mark = tag.indexOf('?')
  const equals = tag.indexOf('=', mark)
  if (mark === -1 || equals === -1) return undefined
  const values = tag.slice(equals + 2, -1).match(SPELLED_VALUE) ?? []
  return { bucket: tag.slice(0, mark), fields: tag.slice(mark + 1, equals).split(','), values }
}

function spell(value: TagValue): string {
  if (value === undefined) return MISSING
  return JSON.stringify(typeof value === 'string' ? cut(value) : value)
}

/** Counted in UTF-8, cut between characters: the same wherever it is computed. */
function cut(text: string): string {
  if (text.length * 3 <= TEXT_BYTES_MAX) return text
  let bytes = 0
  let length = 0
  for (const character of text) {
    bytes += bytesOf(character.codePointAt(0)!)
    if (bytes > TEXT_BYTES_MAX) return text.slice(0, length)
    length += character.length
  }
  return text
}

function bytesOf(point: number): number {
  if (point < 0x80) return 1
  if (point < 0x800) return 2
  return point < 0x10000 ? 3 : 4
}
