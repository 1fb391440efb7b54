/** Rules that are broken on purpose, one at a time, to see that the checks notice it. */
import type { RingPeer } from '@freshet/dht'

export const PLANTED_BUGS = {
  'no wait': 'guards keep no promise',
  'kept counter': 'a peer that hands a counter on goes on using it',
  'early answer': 'a write is acknowledged before a majority has recorded it',
  'forgetful guard': 'what guards recorded does not survive a crash',
} as const
export type PlantedBug = keyof typeof PLANTED_BUGS

export function plant(bug: PlantedBug, { timestamps, guard }: RingPeer): void {
  if (bug === 'no wait') guard.promisedForMs = () => 0
  if (bug === 'kept counter') timestamps.drop = () => {}
  if (bug === 'early answer') timestamps.commit = (_key, _stamp, nowMs, then) => then(true, nowMs)
}
