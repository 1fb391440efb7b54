/**
 * JSON as text. What was sent is stored unchanged: a number with twenty digits, which JavaScript would round, keeps its digits,
 * also in an object that is patched or sent in a commit. So values are parsed into pieces of text.
 */
import { isUtf8 } from 'node:buffer'
import { FreshetError, inexactNumber } from '@freshet/protocol'
import { overLimit } from '../settings/limits.js'
import { DEFAULT_SETTINGS, type ServerSettings } from '../settings/server-settings.js'

type JsonLimits = Pick<ServerSettings, 'jsonDepthMax' | 'jsonMembersMax'>

/** A value, and its contents if it is an object or an array. */
export interface JsonNode {
  readonly text: string
  readonly members?: ReadonlyMap<string, JsonNode>
  readonly elements?: readonly JsonNode[]
}

/**
 * The text of a JSON body. It is valid, is not nested deeper than `depthMax`, has at most `membersMax` members and elements,
 * and no object in it has the same member twice, since readers would disagree on which one counts. Throws BODY_INVALID.
 */
export function readJson(body: Uint8Array, depthMax: number, membersMax?: number): string {
  return parseJson(body, depthMax, membersMax).text
}

/**
 * The members of a body that must be a JSON object, as JavaScript values. A number that would be rounded is refused. Throws
 * BODY_INVALID.
 */
export function readMembers(
  body: Uint8Array,
  depthMax: number,
  membersMax?: number,
): Readonly<Record<string, unknown>> {
  const { text, value } = parseJson(body, depthMax, membersMax)
  checkExact(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('it must be an object: {...}')
  return value as Record<string, unknown>
}

function parseJson(
  body: Uint8Array,
  depthMax: number,
  membersMax = DEFAULT_SETTINGS.jsonMembersMax,
  isSetting = false,
): { readonly text: string; readonly value: unknown } {
  if (body.length === 0) throw invalid('it is empty')
  if (!isUtf8(body)) throw invalid('it is not UTF-8')
  const { depth, items, colons } = shapeOf(body)
  if (depth > depthMax) throw tooDeep(depth, depthMax, isSetting)
  if (items > membersMax) throw tooMany(membersMax, isSetting)
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
  const value = parsed(text)
  // JSON.parse keeps one of two members with the same name.
  if (membersIn(value) !== colons) throw repeated(text)
  return { text, value }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid((cause as Error).message, cause)
  }
}

/**
 * As `readJson`, for a body that must be a JSON object and may be as deep and as large as the settings allow, or deeper by
 * `envelopeDepth`.
 */
export function readJsonObject(
  body: Uint8Array,
  { jsonDepthMax, jsonMembersMax }: JsonLimits,
  envelopeDepth = 0,
): string {
  const { text } = parseJson(body, jsonDepthMax + envelopeDepth, jsonMembersMax, true)
  if (/^[ \t\r\n]*\{/.test(text)) return text
  throw invalid('it must be an object: {...}')
}

/** Throws BODY_INVALID if a number in the text would be rounded. */
export function checkExact(text: string): void {
  const number = inexactNumber(text)
  if (number === undefined) return
  throw invalid(`a number in it, ${number.slice(0, 40)}, would be rounded; send it as text, or with fewer digits`)
}

function invalid(reason: string, cause?: unknown): FreshetError {
  return new FreshetError('BODY_INVALID', `The body is not valid here: ${reason}.`, { cause })
}

/** `isSetting`: whether the setting can raise the limit. */
function tooDeep(depth: number, depthMax: number, isSetting: boolean): FreshetError {
  const reason = `it is nested ${depth} levels deep, deeper than ${depthMax}`
  return isSetting ? beyond('jsonDepthMax', reason, 'Flatten it') : invalid(reason)
}

function tooMany(membersMax: number, isSetting: boolean): FreshetError {
  const reason = `it has more than ${membersMax} members and elements`
  return isSetting ? beyond('jsonMembersMax', reason, 'Divide it') : invalid(reason)
}

function beyond(limit: keyof JsonLimits, reason: string, instead: string): FreshetError {
  return overLimit({ code: 'BODY_INVALID', limit, what: `The body is not valid here: ${reason}.`, instead })
}

function repeated(text: string): FreshetError {
  const name = new TreeReader(text).findRepeated()
  return invalid(`an object in it has the member ${JSON.stringify(name?.slice(0, 80))} twice`)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN = [0x5b, 0x7b]
const CLOSE = [0x5d, 0x7d]

interface Shape {
  readonly depth: number
  /** An upper bound of the number of members and elements. */
  readonly items: number
  readonly colons: number
}

/** How deeply brackets are nested, and how many items they contain, in text that may not be JSON at all. */
function shapeOf(body: Uint8Array): Shape {
  let depth = 0
  let deepest = 0
  let items = 0
  let colons = 0
  let isInString = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (isInString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isInString = false
    } else if (byte === QUOTE) isInString = true
    else if (byte === COMMA) items++
    else if (byte === COLON) colons++
    else if (byte === OPEN[0] || byte === OPEN[1]) {
      items++
      deepest = Math.max(deepest, ++depth)
    } else if (byte === CLOSE[0] || byte === CLOSE[1]) depth--
  }
  return { depth: deepest, items, colons }
}

/** The total number of members of all objects in a value. Recursive: the caller has checked the depth. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Array.isArray(value) ? value : Object.values(value)
  let count = Array.isArray(value) ? 0 : inner.length
  for (const each of inner) count += membersIn(each)
  return count
}

/** Parses valid JSON, down to `levels` levels. As in JSON.parse, the last of several members with the same name counts. */
export function parseJsonTree(text: string, levels: number = Number.POSITIVE_INFINITY): JsonNode {
  return new TreeReader(text).read(levels)
}

class TreeReader {
  readonly #text: string
  #at = 0
  #repeated: string | undefined

  constructor(text: string) {
    this.#text = text
  }

  read(levels: number): JsonNode {
    this.#skipSpace()
    const start = this.#at
    const first = this.#text.charCodeAt(start)
    const isObject = first === OPEN[1]
    if (levels > 0 && isObject) {
      const members = this.#members(levels - 1)
      return { text: this.#text.slice(start, this.#at), members }
    }
    if (levels > 0 && first === OPEN[0]) {
      const elements = this.#elements(levels - 1)
      return { text: this.#text.slice(start, this.#at), elements }
    }
    if (isObject || first === OPEN[0]) this.#skipNested()
    else this.#skipScalar(first)
    return { text: this.#text.slice(start, this.#at) }
  }

  /** The name of a member that one of the objects has twice. */
  findRepeated(): string | undefined {
    this.read(Number.POSITIVE_INFINITY)
    return this.#repeated
  }

  #members(levels: number): ReadonlyMap<string, JsonNode> {
    const members = new Map<string, JsonNode>()
    while (this.#hasNext('}')) {
      const name = JSON.parse(this.read(0).text) as string
      this.#skipSpace()
      this.#at++
      if (members.has(name)) this.#repeated ??= name
      members.set(name, this.read(levels))
    }
    return members
  }

  #elements(levels: number): readonly JsonNode[] {
    const elements: JsonNode[] = []
    while (this.#hasNext(']')) elements.push(this.read(levels))
    return elements
  }

  /** Steps over the opening bracket or a comma to the next item, or over the closing bracket. */
  #hasNext(close: string): boolean {
    this.#skipSpace()
    const isAtEnd = this.#text[this.#at] === close
    this.#at++
    if (isAtEnd) return false
    this.#skipSpace()
    if (this.#text[this.#at] !== close) return true
    this.#at++
    return false
  }

  #skipNested(): void {
    let depth = 0
    do {
      const code = this.#text.charCodeAt(this.#at)
      if (code === QUOTE) {
        this.#skipString()
        continue
      }
      if (code === OPEN[0] || code === OPEN[1]) depth++
      else if (code === CLOSE[0] || code === CLOSE[1]) depth--
      this.#at++
    } while (depth > 0)
  }

  #skipScalar(first: number): void {
    if (first === QUOTE) this.#skipString()
    else while (this.#at < this.#text.length && !endsScalar(this.#text.charCodeAt(this.#at))) this.#at++
  }

  #skipString(): void {
    do {
      this.#at = this.#text.indexOf('"', this.#at + 1)
    } while (isEscaped(this.#text, this.#at))
    this.#at++
  }

  #skipSpace(): void {
    while (this.#text.charCodeAt(this.#at) <= SPACE) this.#at++
  }
}

const SPACE = 0x20

function endsScalar(code: number): boolean {
  return code <= SPACE || code === COMMA || code === CLOSE[0] || code === CLOSE[1]
}

/** Whether an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}
