/** Rules that are broken on purpose, one at a time, to see that the checks detect it. */
export const PLANTED_BUGS = {
  'window too short': 'servers forget a change while copies from before it are still live',
  'segment dropped': 'every fourth segment says that nothing changed',
  'listed change dropped': 'the first of several changes is not listed',
  'sketch lost in a crash': 'a server that restarts knows only later changes',
  'store clock follows the wall': 'the clock that stamps changes jumps ahead with the wall clock',
  'old state under ?at=': 'a server answers with a state from before the requested position',
  'floors not kept': 'a session does not remember what it has seen and written',
  'gaps in events ignored': 'a session takes events although earlier ones were lost',
  'creation is no change': 'an object that is created is not logged',
  'lowering forgets the promise': 'a shorter lifetime shortens the window at once',
  'raising forgets the window': 'a longer lifetime does not lengthen the window',
  'refusals ignored': 'a reader uses answers that its session has refused',
  'unproven answers believed': 'a reader uses answers without a position',
  'nonces not checked': 'a reader believes a head that was made for another request',
  'events stamped by the store clock': 'events are judged by a clock that stops with its connection',
  'clock of another process believed': 'a stream that moves to another process is judged by the clock of the first',
  'stamp taken after the store was asked': 'an event is stamped as newer than its content',
} as const
export type PlantedBug = keyof typeof PLANTED_BUGS
