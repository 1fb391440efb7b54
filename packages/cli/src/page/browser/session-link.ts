/** The link that hands this page's session on, and the session that this page was opened with. */
import { find, setText } from './page-elements.js'

const PARAMETER = 'session'

export function tokenOfVisit(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get(PARAMETER) ?? undefined
}

export function mountSessionLink(): (token: string, position: number) => void {
  const field = find('session-link', HTMLInputElement)
  field.addEventListener('focus', () => field.select())
  find('copy-session', HTMLButtonElement).addEventListener('click', () => copy(field))
  return (token, position) => {
    // After the #, so that it stays in the browser and appears in no server's log.
    const link = `${location.origin}/#${PARAMETER}=${token}`
    if (field.value !== link && document.activeElement !== field) field.value = link
    setText('session-position', String(position))
  }
}

async function copy(field: HTMLInputElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(field.value)
    setText('copy-status', 'Copied.')
  } catch {
    // Browsers allow this on secure pages only; elsewhere the visitor copies the link.
    field.select()
    setText('copy-status', 'Copy the selected link.')
  }
}

export function showContinued(token: string | undefined): void {
  if (token === undefined) return
  const note = find('continued', HTMLElement)
  setText(note, 'This tab continues a session that began elsewhere: it reads nothing older than what was read there.')
  note.hidden = false
}
