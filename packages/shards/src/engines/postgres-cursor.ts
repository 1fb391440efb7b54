/**
 * Rows of PostgreSQL piece by piece: a cursor, from which a few rows are fetched at a time, one piece ahead. How many bytes they
 * have is known only when they arrive: so the number of rows in a piece follows from the size of the previous piece, and a piece
 * that is far too large is not read to its end.
 */
import type { FreshetError } from '@freshet/protocol'
import { overLimit } from '@freshet/server/capabilities'
import type { ParameterValue } from '../plan/index.js'
import type { Session, SessionCursor, SessionResult } from './session-pool.js'

const NAME = 'freshet_rows'
const FIRST_ROWS = 16
const ROWS_MAX = 256
/** About how much is fetched at a time: fewer rows if they are large. */
const BYTES_WANTED = 128 * 1024
const LOOK_MS = 20

export interface PostgresCursorOptions {
  readonly text: string
  readonly values: readonly ParameterValue[]
  readonly bytesMax: number
}

export async function openPostgresCursor(
  session: Pick<Session, 'run' | 'bytesRead' | 'destroy'>,
  { text, values, bytesMax }: PostgresCursorOptions,
): Promise<SessionCursor> {
  const wanted = Math.min(BYTES_WANTED, bytesMax / 4)
  let count = FIRST_ROWS
  const fetch = async (): Promise<SessionResult> => {
    const before = session.bytesRead
    const result = await bounded(session, bytesMax, () => session.run(`FETCH ${count} FROM ${NAME}`))
    count = nextCount(count, wanted / Math.max(1, session.bytesRead - before))
    return result
  }
  // Both are sent at once; the error of the first that fails is thrown.
  const [, first] = await Promise.all([session.run(`DECLARE ${NAME} NO SCROLL CURSOR FOR ${text}`, values), fetch()])
  let ahead: Promise<SessionResult> = Promise.resolve(first)
  return {
    types: first.types,
    isIdle: true,
    next: async () => {
      const { rows } = await ahead
      if (rows.length > 0) {
        ahead = fetch()
        // The caller that asks for these rows gets the error.
        ahead.catch(() => undefined)
      }
      return rows
    },
  }
}

function nextCount(count: number, factor: number): number {
  return Math.max(1, Math.min(Math.floor(count * factor), count * 4, ROWS_MAX))
}

/** A piece that is read ahead keeps arriving even if no caller asks for it: so its size is limited here. */
async function bounded<Result>(
  session: Pick<Session, 'bytesRead' | 'destroy'>,
  bytesMax: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const before = session.bytesRead
  const isTooMuch = () => session.bytesRead - before > bytesMax
  const timer = setInterval(() => isTooMuch() && session.destroy(), LOOK_MS)
  try {
    const result = await work()
    if (isTooMuch()) throw tooLarge(bytesMax)
    return result
  } catch (error) {
    throw isTooMuch() ? tooLarge(bytesMax) : error
  } finally {
    clearInterval(timer)
  }
}

function tooLarge(bytesMax: number): FreshetError {
  return overLimit({
    code: 'LIMIT_EXCEEDED',
    limit: 'sqlBytesMax',
    what: `A few rows of this query have more than ${bytesMax} bytes, the most that the server holds.`,
    instead: 'Select fewer or shorter columns',
    details: { bytesMax },
  })
}
