/** The errors that a ring throws. */
import type { Key } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { ReadLevel, WriteLevel } from '../records/index.js'
import type { Gathered } from './gather.js'

/** Too few replicas answered. 'unknown': some may have taken the write, and a later read may return it. */
export function tooFew(
  what: 'read' | 'written',
  key: Key,
  level: ReadLevel | WriteLevel,
  { answers, failures }: Pick<Gathered<unknown>, 'answers' | 'failures'>,
  outcome: 'not-done' | 'unknown',
): FreshetError {
  const reasons = [...failures].map(([name, error]) => `${name}: ${error instanceof Error ? error.message : error}`)
  const total = answers.size + failures.size
  const end = outcome === 'unknown' ? 'The outcome is unknown: some may have taken it.' : 'Nothing was done.'
  return new FreshetError(
    'RING_UNAVAILABLE',
    `${key} could not be ${what} at level ${level}: ${answers.size} of ${total} replicas answered. ${end} ${reasons.join(' ')}`.trimEnd(),
    { details: { outcome, level, answered: answers.size, replicas: total } },
  )
}

export function noHolder(key: Key, why: string): FreshetError {
  return new FreshetError(
    'RING_UNAVAILABLE',
    `No timestamp is available for ${key}: ${why}. Nothing was done; try again.`,
    {
      details: { outcome: 'not-done' },
    },
  )
}

export function cellsUnusable(why: string): FreshetError {
  return new FreshetError('RING_UNUSABLE', `The ring cannot be used: ${why}.`)
}
