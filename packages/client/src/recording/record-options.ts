/** The options of recording. */
import { FreshetError } from '@freshet/protocol'

/** What is recorded of a session, for `freshet check`, and where the lines go. */
export interface RecordOptions {
  /** Takes the lines of the recording in order, each without its line end. It must not throw. */
  readonly write: (line: string) => void
  /**
   * The share of objects whose reads and writes are recorded, from 0 to 1. Names decide it, so every session records the same
   * objects, and everything about them: a sample of single operations could not be checked.
   */
  readonly sample?: number
  /** Record hashes keyed with this secret instead of paths. Every session and server needs the same secret. */
  readonly hashPaths?: string
}

/** A function that takes the lines of a recording, or an object with more options. */
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
      'if given, a non-empty string.',
  )
}
