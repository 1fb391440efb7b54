/** The command line of `freshet check FILES...`. */
import { parseArgs } from 'node:util'
import { FreshetError } from '@freshet/protocol'
import { didYouMean } from '../config/nearest-name.js'
import { durationFrom } from '../config/value-kinds.js'

export interface CheckLine {
  readonly command: 'check'
  /** '-' for standard input. */
  readonly files: readonly string[]
  readonly isJson: boolean
  /** The recordings hold every write there was. */
  readonly isComplete: boolean
  /** Goes on as the file grows, and sums up at this interval. */
  readonly followMs: number | undefined
  /** How many violations are told in full. */
  readonly tracesMax: number
}

const FLAGS = {
  json: { type: 'boolean' },
  complete: { type: 'boolean' },
  follow: { type: 'boolean' },
  interval: { type: 'string' },
  traces: { type: 'string' },
} as const

const INTERVAL = durationFrom(100)

/** Throws CONFIG_INVALID. */
export function readCheckLine(argv: readonly string[]): CheckLine {
  const { tokens } = parseArgs({ args: [...argv], options: FLAGS, strict: false, allowPositionals: true, tokens: true })
  const files: string[] = []
  const given = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') files.push(token.value)
    if (token.kind === 'option') given.set(flagOf(token.rawName, token.name), textOf(token))
  }
  if (files.length === 0) throw invalid('Say which recordings to check: freshet check FILES... (- for standard input).')
  const isFollowed = given.has('follow')
  if (isFollowed && files.length > 1) throw invalid('--follow takes one file.')
  if (given.has('interval') && !isFollowed) throw invalid('--interval belongs to --follow.')
  return {
    command: 'check',
    files,
    isJson: given.has('json'),
    isComplete: given.has('complete'),
    followMs: isFollowed ? intervalOf(given.get('interval') ?? '10s') : undefined,
    tracesMax: tracesOf(given.get('traces') ?? '5'),
  }
}

function flagOf(rawName: string, name: string): string {
  if (name in FLAGS) return name
  const guess = didYouMean(name, Object.keys(FLAGS), flag => `--${flag}`)
  throw invalid(`${rawName} is no option of check.${guess || ' freshet --help lists them.'}`)
}

function textOf({ name, rawName, value }: { name: string; rawName: string; value?: string | undefined }): string {
  const isSwitch = FLAGS[name as keyof typeof FLAGS].type === 'boolean'
  if (isSwitch && value === undefined) return ''
  if (!isSwitch && value !== undefined && !value.startsWith('--')) return value
  throw invalid(isSwitch ? `${rawName} takes no value.` : `${rawName} needs a value after it.`)
}

function intervalOf(text: string): number {
  const value = INTERVAL.parse(text)
  if (value !== undefined) return value
  throw invalid(`--interval takes ${INTERVAL.wants}, not ${JSON.stringify(text)}.`)
}

function tracesOf(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw invalid(`--traces takes a whole number, not ${JSON.stringify(text)}.`)
}

function invalid(message: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', message)
}
