/** Shows the notes, oldest first, and keeps them up to date. */
import { FreshetError, idOf, type Stored, versionOf } from '@freshet/client'
import { type Note, openNotes } from './notes.js'

/** `npm run dev` sets it to the address of its data server. */
const SERVER = (import.meta.env.VITE_FRESHET_URL as string | undefined) ?? 'http://localhost:7700'

const list = document.querySelector<HTMLUListElement>('#notes')!
const status = document.querySelector<HTMLParagraphElement>('#status')!
const form = document.querySelector<HTMLFormElement>('#add')!

const { db, notes } = await openNotes(SERVER).catch(error => {
  status.textContent = `No server at ${SERVER}. Is \`npm run dev\` running?`
  throw error
})

/** Of the state that the page shows, or is about to show. */
let position = -1
let shown = ''

async function show(): Promise<void> {
  position = db.session.position
  const { items } = await notes.query({ sort: ['createdAt'], limit: 100 })
  status.textContent = `${items.length} notes. Open this page twice, and change something.`
  const state = items.map(note => `${idOf(note)} ${versionOf(note)}`).join()
  if (state === shown) return
  shown = state
  list.replaceChildren(...items.map(row))
}

function row(note: Stored<Note>): HTMLLIElement {
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: note.isDone })
  box.addEventListener('change', () => void change(note, box.checked))
  const label = document.createElement('label')
  label.append(box, ' ', note.text)
  const item = document.createElement('li')
  item.append(label)
  return item
}

/** Changes the note unless another client was faster; then shows that client's change. */
async function change(note: Stored<Note>, isDone: boolean): Promise<void> {
  try {
    await notes.put(idOf(note), { ...note, isDone }, { ifVersion: versionOf(note) })
  } catch (error) {
    if (!(error instanceof FreshetError) || error.code !== 'VERSION_CONFLICT') throw error
  }
  await show()
}

form.addEventListener('submit', async event => {
  event.preventDefault()
  const text = String(new FormData(form).get('text'))
  form.reset()
  await notes.create({ text, isDone: false, createdAt: new Date().toISOString() })
  await show()
})

await show()
// The server pushes changes to the session, whose position moves with them: to compare positions sends no request.
setInterval(() => {
  if (db.session.position !== position) void show().catch(showAgain)
}, 100)

function showAgain(error: unknown): void {
  status.textContent = String(error)
  position = -1
}
