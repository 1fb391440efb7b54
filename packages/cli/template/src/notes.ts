/** The notes of this app: what a note is, and where notes are stored. */
import { connect, type Database, type ObjectBucket } from '@freshet/client'

export interface Note {
  readonly text: string
  readonly isDone: boolean
  readonly createdAt: string
}

export interface Notes {
  readonly db: Database
  readonly notes: ObjectBucket<Note>
}

/** The server pushes the changes of other clients, so they show a moment later, whatever caches are on the way. */
export async function openNotes(url: string): Promise<Notes> {
  const db = await connect(url, { refresh: 'push' })
  const notes = db.bucket<Note>('app/notes')
  await notes.configure({ indexes: [{ name: 'by-date', fields: ['createdAt'] }] })
  return { db, notes }
}
