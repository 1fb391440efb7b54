/**
 * Which layout comes after this one. Every layout has a number, its epoch, and a majority of all nodes decides on each, in one
 * record (CHANGE_KEY) that is changed like any other: so two operators who change the layout at once do not create two layouts. A
 * coordinator that finds a decided layout that is not in effect yet puts it into effect.
 */
import { FreshetError } from '@freshet/protocol'
import { type CellsLayout, CHANGE_KEY, checkLayout, encodeLayout } from '../layout/cells-layout.js'
import type { Cells } from './cells.js'

/** Puts the latest decided layout into effect on every node that answers, and returns it. */
export async function settleLayout(cells: Cells): Promise<CellsLayout> {
  const { value } = await cells.update(CHANGE_KEY, () => undefined)
  const decided = value && (JSON.parse(Buffer.from(value.body).toString()) as CellsLayout)
  await install(cells, decided !== undefined && decided.epoch > cells.layout.epoch ? decided : cells.layout)
  return cells.layout
}

/** Decides on the next layout, and puts it into effect. Throws what `next` throws. */
export async function decideLayout(cells: Cells, next: (layout: CellsLayout) => CellsLayout): Promise<CellsLayout> {
  for (;;) {
    const layout = await settleLayout(cells)
    const wanted = { ...next(layout), epoch: layout.epoch + 1 }
    checkLayout(wanted)
    let isOurs = true
    await cells.update(CHANGE_KEY, value => {
      const decided = value && (JSON.parse(Buffer.from(value.body).toString()) as CellsLayout)
      isOurs = decided === undefined || decided.epoch < wanted.epoch
      return isOurs ? { contentType: 'application/json', body: encodeLayout(wanted) } : undefined
    })
    if (!isOurs) continue
    await install(cells, wanted)
    return wanted
  }
}

/** Installs the layout on every node that answers. From then on, those nodes refuse operations under an older layout. */
async function install(cells: Cells, layout: CellsLayout): Promise<void> {
  cells.adopt(layout)
  const lines = cells.view.allLines()
  const results = await Promise.allSettled(lines.map(line => line.check(layout.epoch)))
  const there = new Set(lines.filter((_, i) => results[i]!.status === 'fulfilled').map(({ name }) => name))
  const isEnough = cells.view.isEnough(CHANGE_KEY, there, 'QUORUM')
  if (isEnough) return
  throw new FreshetError(
    'RING_UNAVAILABLE',
    `Ring ${layout.epoch} is decided, but only ${there.size} of ${lines.length} nodes answer. Start the others, and try again.`,
    { details: { outcome: 'unknown' } },
  )
}
