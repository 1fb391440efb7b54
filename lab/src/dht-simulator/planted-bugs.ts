/** Rules that are broken on purpose, one at a time, to see that the checks detect it. */
import type { RingPeer } from '@freshet/dht'

export const PLANTED_BUGS = {
  'no wait': 'guards break their promise to wait',
  'kept counter': 'a peer that hands over a counter continues to use it',
  'early answer': 'a write is acknowledged before a majority has recorded it',
  'forgetful guard': 'the records of guards do not survive a crash',
} as const
export type PlantedBug = keyof typeof PLANTED_BUGS

export function plant(bug: PlantedBug, { timestamps, guard }: RingPeer): void {
  if (bug === 'no wait') guard.promisedForMs = () => 0
  if (bug === 'kept counter') timestamps.drop = () => {}
  if (bug === 'early answer') timestamps.commit = (_key, _stamp, nowMs, then) => then(true, nowMs)
}
