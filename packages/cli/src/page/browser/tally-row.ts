/** One row of the counts. */
import { find, make, setText } from './page-elements.js'
import type { Tally } from './tally.js'

const COLUMNS = ['reads', 'browser', 'shared', 'server', 'stale'] as const

export function mountTallyRow(id: string): (tally: Tally) => void {
  const row = find(id, HTMLTableRowElement)
  const cells = COLUMNS.map(column => make('td', { 'data-count': column }, '0'))
  row.append(...cells)
  return tally => {
    COLUMNS.forEach((column, i) => {
      setText(cells[i]!, tally[column].toLocaleString('en'))
    })
    cells.at(-1)!.className = tally.stale > 0 ? 'alarm' : 'calm'
  }
}
