/** Reads `NAME [--quick] [--json] [--seed N]`, for experiments `[--figures]` and for benches `[--against REV]`. */
import { parseArgs } from 'node:util'
import { UsageError } from './usage-error.js'

export interface Arguments {
  readonly name: string
  readonly quick: boolean
  readonly json: boolean
  readonly figures: boolean
  readonly seed: number
  /** A revision of this repository. */
  readonly against?: string | undefined
}

export const SEED_DEFAULT = 20121101

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  figures: { type: 'boolean', default: false },
  against: { type: 'string' },
  seed: { type: 'string', default: String(SEED_DEFAULT) },
} as const

/** Every error shows `usage`. The options that `usage` names are the ones accepted. */
export function readArguments(argv: readonly string[], usage: string): Arguments {
  const { values, positionals } = parse(argv, usage)
  const [name, surplus] = positionals
  if (name === undefined) throw new UsageError(usage)
  if (surplus !== undefined) throw new UsageError(`Pass one name at a time; "${surplus}" is one too many.\n${usage}`)
  if (values.figures && !usage.includes('--figures')) throw new UsageError(`Benches draw no figures.\n${usage}`)
  if (values.against !== undefined && !usage.includes('--against')) {
    throw new UsageError(`Only benches take --against.\n${usage}`)
  }
  return { ...values, name, seed: readSeed(values.seed) }
}

function parse(argv: readonly string[], usage: string) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`, { cause: error })
  }
}

function readSeed(text: string): number {
  const seed = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(seed)) return seed
  throw new UsageError(`--seed takes a whole number, 0 or more, not "${text}".`)
}
