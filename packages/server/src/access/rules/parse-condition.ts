/**
 * What follows `if` in a rule:
 *
 *   condition  = and { "or" and }
 *   and        = not { "and" not }
 *   not        = "not" not | "(" condition ")" | "authenticated" | value [ comparison value ]
 *   comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "contains" | "startsWith"
 *   value      = text | number | "true" | "false" | "null" | "[" [ value { "," value } ] "]" | "id" | "namespace" | "bucket"
 *              | ( "claim" | "object" | "new" ) { "." member }          member = name | text
 */
import { ID_FIELD, objectionToField } from '@freshet/protocol'
import {
  AUTHENTICATED,
  both,
  COMPARISONS,
  type Comparison,
  type Condition,
  compare,
  either,
  isTrue,
  memberOf,
  not,
  type Operand,
} from './condition.js'
import type { Word } from './read-words.js'
import { type Guess, RulesError } from './rules-mistake.js'

const NAMES = ['claim', 'object', 'new', 'id', 'namespace', 'bucket', 'true', 'false', 'null', 'authenticated', 'not']
const DEPTH_MAX = 50

export class ConditionParser {
  readonly #words: readonly Word[]
  readonly #end: number
  readonly #guess: Guess
  #next: number
  #depth = 0

  /** `end` is the column after the last word, for what is missing there. */
  constructor(words: readonly Word[], start: number, end: number, guess: Guess) {
    this.#words = words
    this.#next = start
    this.#end = end
    this.#guess = guess
  }

  /** Parses the rest of the line. Throws a RulesError. */
  parse(): Condition {
    const condition = this.#or()
    const extra = this.#words[this.#next]
    if (extra === undefined) return condition
    const guess = this.#guess(extra.text, ['and', 'or', ...COMPARISONS])
    throw new RulesError(
      extra.column,
      `The condition ends before ${extra.text}.${guess || ' Join conditions with and, or.'}`,
    )
  }

  #or(): Condition {
    let condition = this.#and()
    while (this.#takes('or')) condition = either(condition, this.#and())
    return condition
  }

  #and(): Condition {
    let condition = this.#not()
    while (this.#takes('and')) condition = both(condition, this.#not())
    return condition
  }

  #not(): Condition {
    if (++this.#depth > DEPTH_MAX) throw this.#wrong(`A condition can have at most ${DEPTH_MAX} levels.`)
    try {
      if (this.#takes('not')) return not(this.#not())
      if (this.#takes('authenticated')) return AUTHENTICATED
      if (!this.#takes('(')) return this.#comparison()
      const condition = this.#or()
      this.#expect(')')
      return condition
    } finally {
      this.#depth--
    }
  }

  #comparison(): Condition {
    const start = this.#next
    const left = this.#value()
    const word = this.#words[this.#next]
    const comparison = COMPARISONS.find(name => name === word?.text)
    if (comparison === undefined) return isTrue(left, this.#textFrom(start))
    this.#next++
    const right = this.#value()
    checkNull(left, comparison, right, word!.column)
    return compare(left, comparison, right, this.#textFrom(start))
  }

  /** The words from `start` on, joined by single spaces. */
  #textFrom(start: number): string {
    return this.#words
      .slice(start, this.#next)
      .map(({ text }) => text)
      .join(' ')
  }

  #value(): Operand {
    const word = this.#words[this.#next]
    if (word === undefined) throw this.#wrong('A value is missing here, such as claim.sub or "text".')
    this.#next++
    if (word.kind === 'text' || word.kind === 'number') return { value: () => word.value }
    switch (word.text) {
      case 'true':
        return { value: () => true }
      case 'false':
        return { value: () => false }
      case 'null':
        return { value: () => null, isNull: true }
      case '[':
        return this.#list()
      case 'id':
      case 'namespace':
      case 'bucket': {
        const name = word.text
        return { value: scope => scope[name], places: [name], ...(name === 'id' ? { field: ID_FIELD } : {}) }
      }
      case 'claim': {
        const path = this.#path(word)
        return { value: ({ claims }) => memberOf(claims, path), isClaim: true, usesClaims: true }
      }
      case 'object': {
        const path = this.#path(word)
        const members = [path[0]!]
        return { value: ({ object }) => memberOf(object, path), looksAt: 'object', members, ...indexedAs(path) }
      }
      case 'new': {
        const path = this.#path(word)
        return { value: ({ next }) => memberOf(next, path), looksAt: 'new' }
      }
      default:
        throw new RulesError(word.column, `${word.text} is not a value.${this.#guess(word.text, NAMES) || wants()}`)
    }
  }

  /** Missing values are left out of a list. */
  #list(): Operand {
    const items: Operand[] = []
    while (!this.#takes(']')) {
      if (items.length > 0) this.#expect(',')
      items.push(this.#value())
    }
    const seen = items.find(({ looksAt }) => looksAt !== undefined)?.looksAt
    return {
      value: scope => items.map(({ value }) => value(scope)).filter(value => value !== undefined),
      ...(seen === undefined ? {} : { looksAt: seen }),
      places: items.flatMap(({ places = [] }) => places),
      members: items.flatMap(({ members = [] }) => members),
      ...(items.some(({ usesClaims }) => usesClaims) ? { usesClaims: true } : {}),
    }
  }

  #path(after: Word): readonly string[] {
    const path: string[] = []
    while (this.#takes('.')) {
      const word = this.#words[this.#next++]
      if (word?.kind !== 'name' && word?.kind !== 'text') {
        throw new RulesError(word?.column ?? this.#end, `The name of a member is missing after ${after.text}.`)
      }
      path.push(word.kind === 'text' ? String(word.value) : word.text)
    }
    if (path.length === 0)
      throw new RulesError(after.column, `Name a member of ${after.text}, as in ${after.text}.name.`)
    return path
  }

  #takes(text: string): boolean {
    const word = this.#words[this.#next]
    if (word?.text !== text || word.kind === 'text') return false
    this.#next++
    return true
  }

  #expect(text: string): void {
    if (!this.#takes(text)) throw this.#wrong(`${text} is missing here.`)
  }

  #wrong(message: string): RulesError {
    return new RulesError(this.#words[this.#next]?.column ?? this.#end, message)
  }
}

/** A path into an array, or with a name that indexes cannot have, is in no index. */
function indexedAs(path: readonly string[]): Pick<Operand, 'field'> {
  const field = path.join('.')
  const isPlain = path.every((name, i) => !name.includes('.') && (i === 0 || !/^(?:[0-9]+|length)$/.test(name)))
  return isPlain && objectionToField(field) === undefined ? { field } : {}
}

function checkNull(left: Operand, comparison: Comparison, right: Operand, column: number): void {
  if (!left.isNull && !right.isNull) return
  if (comparison !== '==' && comparison !== '!=')
    throw new RulesError(column, 'null can be compared with == and != only.')
}

function wants(): string {
  return ' A value is a text, a number, true, false, null, a list, id, namespace, bucket, claim.x, object.x or new.x.'
}
