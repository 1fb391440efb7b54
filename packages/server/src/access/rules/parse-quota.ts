/**
 * A line of a rules file about how much a namespace may have:
 *
 *   quota  = "quota" part limit { "," limit }              part = name | "*"
 *   limit  = ( "objects" | "bytes" ) number | "requests" number "per" ( "minute" | "hour" | "day" )
 */
import type { Word } from './read-words.js'
import { type Guess, RulesError } from './rules-mistake.js'

/** An absent member has no limit. */
export interface Quota {
  readonly objects?: number
  /** Of values, as they are stored. */
  readonly bytes?: number
  readonly requests?: RequestQuota
}

export interface RequestQuota {
  readonly max: number
  readonly per: Period
}

export type Period = keyof typeof PERIODS_MS

export const PERIODS_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
const LIMITS = ['objects', 'bytes', 'requests'] as const
const EXAMPLE = 'quota acme objects 10000, bytes 50000000, requests 1000 per hour'

/** After the word "quota". Throws a RulesError. */
export function parseQuota(words: readonly Word[], end: number, guess: Guess): Quota {
  const quota: { -readonly [Name in keyof Quota]: Quota[Name] } = {}
  for (let i = 0; ; ) {
    const word = words[i]
    const name = LIMITS.find(each => each === word?.text)
    if (name === undefined) {
      throw new RulesError(
        word?.column ?? end,
        `Say what is limited: objects, bytes or requests.${word ? guess(word.text, LIMITS) : ''} ${EXAMPLE}`,
      )
    }
    if (quota[name] !== undefined) throw new RulesError(word!.column, `${name} has a limit already.`)
    const max = wholeNumberAt(words[i + 1], end)
    if (name === 'requests') quota.requests = { max, per: periodAt(words[i + 2], words[i + 3], end, guess) }
    else quota[name] = max
    i += name === 'requests' ? 4 : 2
    if (words[i] === undefined) return quota
    if (words[i]!.text !== ',') throw new RulesError(words[i]!.column, `Separate limits with a comma: ${EXAMPLE}`)
    i++
  }
}

function wholeNumberAt(word: Word | undefined, end: number): number {
  if (word?.kind === 'number' && Number.isSafeInteger(word.value) && (word.value as number) >= 0) {
    return word.value as number
  }
  throw new RulesError(word?.column ?? end, `Give a whole number, as in ${EXAMPLE}`)
}

function periodAt(per: Word | undefined, unit: Word | undefined, end: number, guess: Guess): Period {
  if (per?.text === 'per' && unit !== undefined && Object.hasOwn(PERIODS_MS, unit.text)) return unit.text as Period
  const hint = unit === undefined ? '' : guess(unit.text, Object.keys(PERIODS_MS))
  throw new RulesError(
    (per?.text === 'per' ? unit : per)?.column ?? end,
    `Requests are counted per minute, hour or day: requests 1000 per hour.${hint}`,
  )
}
