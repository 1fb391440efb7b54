/** The points in the processing of a request, from its arrival to its answer, in order. */
export const CRASH_POINTS = [
  'received',
  'planned',
  'handed over',
  'writing',
  'flushed',
  'answering',
  'answer begun',
  'answered',
] as const

export type CrashPoint = (typeof CRASH_POINTS)[number]
