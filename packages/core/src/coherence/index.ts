export { formatSeed, parseSeed } from './change-hash.js'
export {
  LearntLifetimes,
  type LearntLifetimesOptions,
  type LifetimeBounds,
} from './learnt-lifetimes/learnt-lifetimes.js'
export { Lifetimes, type LifetimesOptions } from './lifetimes.js'
export { EVENT_TIME_MS, formatEvent, formatNews, parseEvent } from './news.js'
export { packChanges, unpackChanges } from './packed-changes.js'
export {
  decodeFilter,
  decodeSegmentBundle,
  encodeSegmentBundle,
  formatSegmentRefs,
  parseSegmentRefs,
  SEGMENTS_PER_BUNDLE_MAX,
} from './segment-bundle.js'
export { type Answer, type Dependencies, type ReadMode, Session, type SessionOptions } from './session.js'
export { createSketch, Sketch, type SketchHead, type SketchOptions } from './sketch.js'
export type { HeadPlan, ReaderHead } from './sketch-view.js'
