/** Draws the server's present sketch: a block for each segment, a mark for each of the newest changes. */
import { find, make, setText } from './page-elements.js'

/** What the page uses of `GET /coherence`. */
interface Head {
  readonly position: number
  readonly windowMs: number
  readonly segments: readonly { readonly from: number; readonly to: number }[]
  readonly tail: { readonly changes?: string; readonly filter?: string }
}

/** A segment never changes, so its size is requested once. */
const sizes = new Map<string, number>()
const KEPT_MAX = 500
/** One change takes about this number of characters. */
const CHANGE_LENGTH = 4

export async function refreshSketchStrip(): Promise<void> {
  const text = await (await fetch('/coherence', { credentials: 'omit' })).text()
  const head = JSON.parse(text) as Head
  const names = head.segments.map(({ from, to }) => `${from}-${to}`)
  const bytes = await Promise.all(names.map(sizeOfSegment))
  draw(head, text.length + bytes.reduce((sum, size) => sum + size, 0))
}

async function sizeOfSegment(name: string): Promise<number> {
  const known = sizes.get(name)
  if (known !== undefined) return known
  const response = await fetch(`/coherence/segments/${name}`, { credentials: 'omit' })
  // The segment may have left the window a moment ago.
  const size = response.ok ? (await response.arrayBuffer()).byteLength : 0
  if (sizes.size > KEPT_MAX) sizes.clear()
  sizes.set(name, size)
  return size
}

function draw({ position, windowMs, segments, tail }: Head, sizeBytes: number): void {
  const changes = tail.changes === undefined ? undefined : Math.floor(tail.changes.length / CHANGE_LENGTH)
  const marks = Array.from({ length: changes ?? 1 }, () => make('i', { class: 'change' }))
  const strip = find('sketch-strip', HTMLElement)
  strip.replaceChildren(
    ...segments.map(({ from, to }) => make('i', { title: `changes ${from + 1} to ${to}` })),
    ...marks,
  )
  strip.ariaLabel = `The sketch: ${segments.length} segments and ${changes ?? 'many'} newest changes.`
  setText('sketch-position', String(position))
  setText('sketch-segments', String(segments.length))
  setText('sketch-tail', changes === undefined ? 'as a filter' : String(changes))
  setText('sketch-size', `${sizeBytes.toLocaleString('en')} bytes`)
  setText('sketch-window', `${Math.round(windowMs / 1000)} s`)
}
