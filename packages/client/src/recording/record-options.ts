/** What can be said about recording. */
import { FreshetError } from '@freshet/protocol'

/** What is recorded of a session, for `freshet check`, and where it goes. */
export interface RecordOptions {
  /** Takes one line of the recording, without its end, in order. It must not throw. */
  readonly write: (line: string) => void
  /**
   * The share of objects whose reads and writes are recorded, from 0 to 1. It is decided by their names, so everybody
   * records the same ones, and of those everything: a sample of single operations could not be checked.
   */
  readonly sample?: number
  /** Records hashes under this secret instead of paths. Everybody who takes part needs the same secret. */
  readonly hashPaths?: string
}

/** Where the lines of a recording go, or that and more. */
export type RecordOption = RecordOptions['write'] | RecordOptions

/** Throws OPTIONS_INVALID. */
export function completeRecord(record: RecordOption): RecordOptions {
  if (typeof record === 'function') return { write: record }
  const { write, sample = 1, hashPaths } = record
  const isText = hashPaths === undefined || (typeof hashPaths === 'string' && hashPaths !== '')
  if (typeof write === 'function' && sample >= 0 && sample <= 1 && isText) return record
  throw new FreshetError(
    'OPTIONS_INVALID',
    'record must be a function that takes lines, or { write, sample, hashPaths } with sample from 0 to 1 and hashPaths, ' +
      'if it is there, a text.',
  )
}
