/** What the visitor sees: how many reads were answered where, and the results of the check. */
import type { PageCounts, ReaderKind, Verdict } from '../page-protocol.js'

const SOURCES = ['browser', 'shared', 'server'] as const

export function showWay(way: readonly string[]): void {
  element('way').replaceChildren(
    ...way.map(name => {
      const item = document.createElement('li')
      item.textContent = name
      return item
    }),
  )
}

export function showCounts({ reads }: PageCounts): void {
  for (const [kind, counts] of Object.entries(reads)) {
    const all = SOURCES.reduce((sum, source) => sum + counts[source], 0)
    show(kind, 'reads', all)
    for (const source of SOURCES) {
      show(kind, source, counts[source])
      element(`${kind}-bar-${source}`).style.flexGrow = `${counts[source]}`
    }
  }
}

export function showVerdict(kind: ReaderKind, { checked, stale }: Verdict): void {
  show(kind, 'checked', checked)
  show(kind, 'stale', stale)
  element(`${kind}-stale`).className = stale > 0 ? 'alarm' : 'calm'
}

function show(kind: string, column: string, count: number): void {
  element(`${kind}-${column}`).textContent = count.toLocaleString('en')
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found) return found
  throw new TypeError(`index.html has no element with the id "${id}". Add it, or correct the id.`)
}
