/**
 * Which ring comes after this one. Every ring has a number, its epoch, and a majority of all nodes decides on each, in one record
 * (CHANGE_KEY) that is changed like any other: so two people who change the ring at once do not make two of it. Who finds a ring
 * decided on that is not in effect yet puts it into effect.
 */
import { FreshetError } from '@freshet/protocol'
import type { Cells } from '../cells/cells.js'
import { CHANGE_KEY, checkRing, encodeRing, type RingState } from '../ring/ring-state.js'

/** The latest ring that is decided on, in effect on every node that answers. */
export async function settleRing(cells: Cells): Promise<RingState> {
  const { value } = await cells.update(CHANGE_KEY, () => undefined)
  const decided = value && (JSON.parse(Buffer.from(value.body).toString()) as RingState)
  await install(cells, decided !== undefined && decided.epoch > cells.ring.epoch ? decided : cells.ring)
  return cells.ring
}

/** Decides on the next ring, and puts it into effect. What `next` throws is thrown. */
export async function decideRing(cells: Cells, next: (ring: RingState) => RingState): Promise<RingState> {
  for (;;) {
    const ring = await settleRing(cells)
    const wanted = { ...next(ring), epoch: ring.epoch + 1 }
    checkRing(wanted)
    let isOurs = true
    await cells.update(CHANGE_KEY, value => {
      const decided = value && (JSON.parse(Buffer.from(value.body).toString()) as RingState)
      isOurs = decided === undefined || decided.epoch < wanted.epoch
      return isOurs ? { contentType: 'application/json', body: encodeRing(wanted) } : undefined
    })
    if (!isOurs) continue
    await install(cells, wanted)
    return wanted
  }
}

/** On every node that answers. From then on nobody does anything there by an older ring. */
async function install(cells: Cells, ring: RingState): Promise<void> {
  cells.adopt(ring)
  const lines = cells.view.allLines()
  const results = await Promise.allSettled(lines.map(line => line.check(ring.epoch)))
  const there = new Set(lines.filter((_, i) => results[i]!.status === 'fulfilled').map(({ name }) => name))
  const isEnough = cells.view.isEnough(CHANGE_KEY, there, 'QUORUM')
  if (isEnough) return
  throw new FreshetError(
    'RING_UNAVAILABLE',
    `Ring ${ring.epoch} is decided on, but only ${there.size} of ${lines.length} nodes answer. Start the others, and say it again.`,
    { details: { outcome: 'unknown' } },
  )
}
