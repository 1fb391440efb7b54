/** The command line of `freshet check FILES...`. */
import { configInvalid } from '../config/config-invalid.js'
import { countFrom, durationFrom } from '../config/value-kinds.js'
import { flagValue } from '../terminal/flag-values.js'
import { readWordsAndFlags } from '../terminal/read-flags.js'

export interface CheckLine {
  /** '-' for standard input. */
  readonly files: readonly string[]
  readonly isJson: boolean
  /** Whether the recordings hold every write that was ever made. */
  readonly isComplete: boolean
  /** If set, follow the file as it grows and print a summary at this interval. */
  readonly followMs: number | undefined
  /** How many violations to print in full. */
  readonly tracesMax: number
}

const FLAGS = { values: ['interval', 'traces'], switches: ['json', 'complete', 'follow'] }
const TRACES = countFrom(0, 999_999)
const INTERVAL = durationFrom(100)

/** Throws CONFIG_INVALID. */
export function readCheckLine(argv: readonly string[]): CheckLine {
  const { words: files, given } = readWordsAndFlags('check', argv, FLAGS)
  if (files.length === 0)
    throw configInvalid('Name the recordings to check: freshet check FILES... (- for standard input).')
  const isFollowed = given.has('follow')
  if (isFollowed && files.length > 1) throw configInvalid('--follow takes one file.')
  if (given.has('interval') && !isFollowed) throw configInvalid('--interval needs --follow.')
  return {
    files,
    isJson: given.has('json'),
    isComplete: given.has('complete'),
    followMs: isFollowed ? flagValue('--interval', given.get('interval') ?? '10s', INTERVAL) : undefined,
    tracesMax: flagValue('--traces', given.get('traces') ?? '5', TRACES),
  }
}
