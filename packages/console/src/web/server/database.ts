/**
 * The connection with which the pages read and write data. It is that of the client, as in any program, so that the data shown is
 * never stale, whatever caches are between the browser and the server.
 */
import { connect, type Database, type ReadEvent, type ServedFrom } from '@freshet/client'
import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { token } from './token.js'

export type Tally = Readonly<Record<ServedFrom, number>>

const NO_READS: Tally = { memory: 0, 'browser cache': 0, 'shared cache': 0, server: 0, unknown: 0 }
const counts = signal(NO_READS)

/** Where the reads of this page were answered. */
export const readTally: ReadonlySignal<Tally> = counts

let opened: Promise<Database> | undefined

/** The connection for the token in use. */
export function database(): Promise<Database> {
  opened ??= connect(location.origin, {
    read: 'current',
    onRead: count,
    ...(token.value === '' ? {} : { authorization: token.value }),
  })
  opened.catch(() => {
    opened = undefined
  })
  return opened
}

function count({ from }: ReadEvent): void {
  counts.value = { ...counts.value, [from]: counts.value[from] + 1 }
}

/** A connection belongs to one user. */
effect(() => {
  void token.value
  opened?.then(db => db.close()).catch(() => undefined)
  opened = undefined
})
