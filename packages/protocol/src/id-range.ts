/** The ids that a list, a scan or a transaction's read of a bucket covers. Bounds are intersected. */
import { compareUtf8 } from './utf8-order.js'

export interface IdRange {
  /** Inclusive. */
  readonly from?: string
  /** Exclusive. */
  readonly to?: string
  /** Exclusive. */
  readonly after?: string
  readonly prefix?: string
}

export function isWithin(id: string, { from, to, after, prefix }: IdRange): boolean {
  if (prefix !== undefined && !id.startsWith(prefix)) return false
  if (from !== undefined && compareUtf8(id, from) < 0) return false
  if (to !== undefined && compareUtf8(id, to) >= 0) return false
  return after === undefined || compareUtf8(id, after) > 0
}

/** Neither this id nor any that follows it is within the range. */
export function isBeyond(id: string, { to, prefix }: IdRange): boolean {
  if (to !== undefined && compareUtf8(id, to) >= 0) return true
  return prefix !== undefined && !id.startsWith(prefix) && compareUtf8(id, prefix) > 0
}
