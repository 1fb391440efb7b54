/** A line that states an outcome of the rules: `deny read shop/orders/1 as {"sub":"bob"} object {"owner":"ann"}`. */

import { RIGHTS, type Right } from './rights.js'
import { RulesError } from './rules-mistake.js'

export interface RuleExample {
  readonly line: number
  readonly isAllowed: boolean
  readonly right: Right
  readonly namespace: string
  readonly bucket: string
  readonly id: string | undefined
  readonly claims: Readonly<Record<string, unknown>> | undefined
  readonly object: unknown
  readonly next: unknown
  /** The line, for messages. */
  readonly text: string
}

const HEAD =
  /^\s*(?<verdict>allow|deny)\s+(?<right>[a-z]+)\s+(?<namespace>[a-z0-9][a-z0-9_-]*)\/(?<bucket>[a-z0-9][a-z0-9_-]*)(?:\/(?<id>\S+))?\s+as\s+/
const FORM = 'An example is: allow read shop/orders/1 as {"sub":"ann"} object {"owner":"ann"}; or as anyone'

/** Throws a RulesError. */
export function parseExample(line: string, number: number): RuleExample {
  const head = HEAD.exec(line)
  if (head === null) throw new RulesError(1, FORM)
  const { verdict, right, namespace, bucket, id } = head.groups!
  const known = RIGHTS.find(name => name === right)
  if (known === undefined)
    throw new RulesError(line.indexOf(right!) + 1, `${right} is not a right that an example can test. ${FORM}`)
  const rest = line.slice(head[0].length)
  const isAnyone = /^anyone\b/.test(rest)
  let at = isAnyone ? 'anyone'.length : 0
  const found: Record<string, unknown> = {}
  const take = (name: string) => {
    const [value, length] = readJson(rest.slice(at), head[0].length + at + 1)
    found[name] = value
    at += length
  }
  if (!isAnyone) take('as')
  for (;;) {
    const next = /^\s+(object|new)\s+/.exec(rest.slice(at))
    if (next === null) break
    at += next[0].length
    take(next[1]!)
  }
  if (!/^\s*(?:#.*)?$/.test(rest.slice(at))) throw new RulesError(head[0].length + at + 1, FORM)
  return {
    line: number,
    isAllowed: verdict === 'allow',
    right: known,
    namespace: namespace!,
    bucket: bucket!,
    id,
    claims: isAnyone ? undefined : (found.as as Record<string, unknown>),
    object: found.object,
    next: found.new,
    text: line.trim(),
  }
}

/** Parses the object at the start of a text, and returns its length. */
function readJson(text: string, column: number): [value: Record<string, unknown>, length: number] {
  const pieces = /"(?:[^"\\]|\\.)*"|[{}]/g
  let depth = 0
  for (let piece = pieces.exec(text); piece !== null; piece = pieces.exec(text)) {
    if (piece[0] === '{') depth++
    if (piece[0] === '}') depth--
    if (depth > 0) continue
    const written = text.slice(0, pieces.lastIndex)
    try {
      return [JSON.parse(written) as Record<string, unknown>, written.length]
    } catch {
      break
    }
  }
  throw new RulesError(column, `A JSON object is missing here. ${FORM}`)
}
