/** Rules that are broken on purpose, one at a time, to see that the checks detect it. */
import type { Cells } from '@freshet/cells'

export const PLANTED_BUGS = {
  'dropped hint': 'hints are acknowledged, but not stored',
  'kept counter': 'a coordinator answers from memory after its tenure',
  'early collection': 'a tombstone is dropped although a replica does not have it',
  'no wait': 'a claimant does not wait for the last holder',
  'forgetful node': 'a node that crashes loses its votes',
  'sleeping clock': "a coordinator's memory does not age while its machine sleeps",
} as const
export type PlantedBug = keyof typeof PLANTED_BUGS

export function plant(bug: PlantedBug, cells: Cells): void {
  const { tenures, hints } = cells
  if (bug === 'dropped hint') hints.keep = async () => true
  if (bug === 'kept counter') tenures.isLeased = () => true
  if (bug === 'sleeping clock') cells.timing.pessimisticMs = cells.timing.nowMs
  if (bug === 'no wait') tenures.isSilent = () => true
}

/** Drops tombstones on whichever nodes have them. */
export async function collectEarly(cells: Cells, keys: readonly string[]): Promise<void> {
  await cells.restarting('tombstones', async view => {
    for (const key of keys) {
      for (const line of view.linesOf(key)) {
        const { version, record } = await line.read(key, view.epoch)
        if (record.value === undefined && version > 0) await line.replace({ key, body: undefined }, version, view.epoch)
      }
    }
  })
}
