export { formatHash, formatSeed, parseHash, parseSeed } from './change-hash.js'
export { Lifetimes, type LifetimesOptions } from './lifetimes.js'
export {
  decodeFilter,
  decodeSegmentBundle,
  encodeSegmentBundle,
  formatSegmentRefs,
  parseSegmentRefs,
  SEGMENTS_PER_BUNDLE_MAX,
} from './segment-bundle.js'
export { type Answer, type ReadMode, Session, type SessionOptions } from './session.js'
export { createSketch, Sketch, type SketchHead, type SketchOptions } from './sketch.js'
export type { HeadPlan } from './sketch-view.js'
