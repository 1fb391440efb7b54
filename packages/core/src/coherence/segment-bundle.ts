/**
 * Several segments in one answer, so that a new reader needs one request. For each segment, in the requested order:
 *
 *     +---------------------+---------------------------+
 *     | length, 4 bytes, LE | encoded filter            |
 *     +---------------------+---------------------------+
 *
 * The URL names them: /coherence/segments/40-80,80-104
 */
import { type Bloom, decodeBloom } from '@freshet/bloom'
import { parsePosition, type SegmentRef } from '@freshet/protocol'
import { sketchInvalid } from './sketch-invalid.js'

export const SEGMENTS_PER_BUNDLE_MAX = 64

export function formatSegmentRefs(refs: readonly SegmentRef[]): string {
  return refs.map(({ from, to }) => `${from}-${to}`).join(',')
}

/** Undefined if it is not spelled as `formatSegmentRefs` does. */
export function parseSegmentRefs(text: string): readonly SegmentRef[] | undefined {
  const parts = text.split(',')
  if (parts.length > SEGMENTS_PER_BUNDLE_MAX) return undefined
  const refs = parts.map(part => {
    const [from, to, ...rest] = part.split('-').map(parsePosition)
    return from === undefined || to === undefined || rest.length > 0 || from >= to ? undefined : { from, to }
  })
  return refs.every(ref => ref !== undefined) ? refs : undefined
}

export function encodeSegmentBundle(filters: readonly Uint8Array[]): Uint8Array {
  const bundle = new Uint8Array(filters.reduce((sum, filter) => sum + 4 + filter.length, 0))
  const view = new DataView(bundle.buffer)
  let at = 0
  for (const filter of filters) {
    view.setUint32(at, filter.length, true)
    bundle.set(filter, at + 4)
    at += 4 + filter.length
  }
  return bundle
}

/** Throws ANSWER_INVALID unless it holds exactly `count` filters under this seed. */
export function decodeSegmentBundle(bundle: Uint8Array, count: number, seed: bigint): readonly Bloom[] {
  const filters: Bloom[] = []
  const view = new DataView(bundle.buffer, bundle.byteOffset, bundle.byteLength)
  let at = 0
  while (at < bundle.length) {
    const end = at + 4 > bundle.length ? Number.POSITIVE_INFINITY : at + 4 + view.getUint32(at, true)
    if (end > bundle.length) throw sketchInvalid('it ends in the middle of a filter')
    filters.push(decodeFilter(bundle.subarray(at + 4, end), seed))
    at = end
  }
  if (filters.length !== count) throw sketchInvalid(`it holds ${filters.length} filters instead of ${count}`)
  return filters
}

/** Throws ANSWER_INVALID unless it is a filter under this seed. */
export function decodeFilter(bytes: Uint8Array, seed: bigint): Bloom {
  try {
    const filter = decodeBloom(bytes)
    if (filter.seed === seed) return filter
  } catch (cause) {
    throw sketchInvalid('one of its filters cannot be read', cause)
  }
  throw sketchInvalid('one of its filters has another seed than the sketch')
}
