/** What the bounds of a scan mean, for stores that cannot leave all of it to their engine. */
import type { ScanRange } from './store.js'
import { compareUtf8 } from './utf8-order.js'

export function isWithin(id: string, { from, to, after, prefix }: ScanRange): boolean {
  if (prefix !== undefined && !id.startsWith(prefix)) return false
  if (from !== undefined && compareUtf8(id, from) < 0) return false
  if (to !== undefined && compareUtf8(id, to) >= 0) return false
  return after === undefined || compareUtf8(id, after) > 0
}

/** Neither this id nor any that follows it is within the range. */
export function isBeyond(id: string, { to, prefix }: ScanRange): boolean {
  if (to !== undefined && compareUtf8(id, to) >= 0) return true
  return prefix !== undefined && !id.startsWith(prefix) && compareUtf8(id, prefix) > 0
}
