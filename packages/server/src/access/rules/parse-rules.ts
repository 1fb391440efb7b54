/**
 * Reads a rules file. One statement a line; `#` begins a comment:
 *
 *   file     = { admin | metrics | wall | quota | bucket { right } | example }
 *   admin    = "admin" "if" condition                       may do everything
 *   metrics  = "metrics" [ "if" condition ]                 may read how the server is doing, and nothing else by that
 *   wall     = "wall" claim                                 tokens reach only the namespaces that this claim names
 *   quota    = "quota" part limit { "," limit }            `parse-quota.ts`
 *   bucket   = "bucket" part "/" part                       part = name | "*"
 *   right    = verb { "," verb } [ "if" condition ]         verb = "read" | "list" | "create" | "update" | "delete" | "write"
 *   example  = ( "allow" | "deny" ) verb path "as" ( "anyone" | JSON ) [ "object" JSON ] [ "new" JSON ]
 *
 * What no line allows is denied. docs/guides/access.md is for people who write such files. The parser reports all mistakes, each with
 * its place.
 */
import { ALWAYS, type Condition } from './condition.js'
import { ConditionParser } from './parse-condition.js'
import { parseExample, type RuleExample } from './parse-example.js'
import { parseQuota, type Quota } from './parse-quota.js'
import { readWords, type Word } from './read-words.js'
import { RIGHTS, type Right, WRITES } from './rights.js'
import { type Guess, RulesError, type RulesMistake } from './rules-mistake.js'

export interface Rule {
  readonly right: Right
  readonly condition: Condition
}

export interface BucketRules {
  /** Undefined: any namespace. */
  readonly namespace: string | undefined
  readonly bucket: string | undefined
  readonly rules: readonly Rule[]
}

export interface ParsedRules {
  readonly admin: readonly Condition[]
  /** The conditions under which a caller may read `/metrics`, besides admins. */
  readonly metrics: readonly Condition[]
  /** The path to the claim that names namespaces. */
  readonly wall: readonly string[] | undefined
  /** By namespace. The entry of `*` is for namespaces that have no entry of their own. */
  readonly quotas: ReadonlyMap<string, Quota>
  readonly buckets: readonly BucketRules[]
  readonly examples: readonly RuleExample[]
}

export type RulesRead =
  | { readonly rules: ParsedRules; readonly mistakes: readonly [] }
  | { readonly rules: undefined; readonly mistakes: readonly RulesMistake[] }

const VERBS = [...RIGHTS, 'write']
const STATEMENTS = [...VERBS, 'bucket', 'admin', 'metrics', 'wall', 'quota', 'allow', 'deny']
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/
/** Which states of an object a condition can look at, by right. The right to list is decided before any object is read. */
const SEEN: Readonly<Record<Right, readonly string[]>> = {
  read: ['object'],
  list: [],
  create: ['new'],
  update: ['object', 'new'],
  delete: ['object'],
}

export function parseRules(text: string, guess: Guess = () => ''): RulesRead {
  const parser = new RulesParser(guess)
  const mistakes: RulesMistake[] = []
  text.split(/\r?\n/).forEach((line, i) => {
    try {
      parser.take(line, i + 1)
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      mistakes.push({ line: i + 1, column: error.column, message: error.message })
    }
  })
  return mistakes.length > 0 ? { rules: undefined, mistakes } : { rules: parser.rules(), mistakes: [] }
}

class RulesParser {
  readonly #guess: Guess
  readonly #admin: Condition[] = []
  readonly #metrics: Condition[] = []
  readonly #buckets: { namespace: string | undefined; bucket: string | undefined; rules: Rule[] }[] = []
  readonly #examples: RuleExample[] = []
  readonly #quotas = new Map<string, Quota>()
  #wall: readonly string[] | undefined

  constructor(guess: Guess) {
    this.#guess = guess
  }

  rules(): ParsedRules {
    return {
      ...{ admin: this.#admin, metrics: this.#metrics, wall: this.#wall, quotas: this.#quotas },
      ...{ buckets: this.#buckets, examples: this.#examples },
    }
  }

  take(line: string, number: number): void {
    if (/^\s*(?:allow|deny)\b/.test(line)) {
      this.#examples.push(parseExample(line, number))
      return
    }
    const words = readWords(line)
    const [first] = words
    if (first === undefined) return
    const end = line.length + 1
    if (first.text === 'admin') this.#admin.push(this.#ifAt(words, 1, end))
    else if (first.text === 'metrics') this.#takeMetrics(words, end)
    else if (first.text === 'wall') this.#takeWall(words, end)
    else if (first.text === 'quota') this.#takeQuota(words, end)
    else if (first.text === 'bucket') this.#takeBucket(words, end)
    else this.#takeRight(words, end)
  }

  #takeMetrics(words: readonly Word[], end: number): void {
    const condition = words[1] === undefined ? ALWAYS : this.#ifAt(words, 1, end)
    if (condition.looksAt.size > 0) {
      throw new RulesError(
        words[0]!.column,
        'Metrics belong to no object. Test claims: metrics if claim.role == "metrics"',
      )
    }
    this.#metrics.push(condition)
  }

  #takeWall(words: readonly Word[], end: number): void {
    if (this.#wall !== undefined)
      throw new RulesError(1, 'There is a wall already. Only one claim can name the namespaces.')
    const [, claim, ...rest] = words
    if (claim?.text !== 'claim') throw new RulesError(claim?.column ?? end, 'A wall is a claim: wall claim.namespaces')
    const path: string[] = []
    for (let i = 0; i < rest.length; i += 2) {
      const [dot, name] = [rest[i]!, rest[i + 1]]
      if (dot.text !== '.' || (name?.kind !== 'name' && name?.kind !== 'text')) {
        throw new RulesError(dot.column, 'A wall is a claim: wall claim.namespaces')
      }
      path.push(name.kind === 'text' ? String(name.value) : name.text)
    }
    if (path.length === 0) throw new RulesError(end, 'Say which claim: wall claim.namespaces')
    this.#wall = path
  }

  #takeQuota(words: readonly Word[], end: number): void {
    // A name that begins with a digit consists of two words.
    const from = words.findIndex(
      (word, i) => i > 0 && (i === words.length - 1 || word.column + word.text.length < words[i + 1]!.column),
    )
    const name = words
      .slice(1, from + 1)
      .map(word => word.text)
      .join('')
    const column = words[1]?.column ?? end
    if (name !== '*' && !NAME.test(name))
      throw new RulesError(column, 'Name a namespace; * stands for any other: quota acme objects 1000')
    if (this.#quotas.has(name))
      throw new RulesError(column, `${name} has a quota already. Write all its limits in one line.`)
    this.#quotas.set(name, parseQuota(words.slice(from + 1), end, this.#guess))
  }

  #takeBucket(words: readonly Word[], end: number): void {
    const pattern = words.slice(1)
    const text = pattern.map(word => word.text).join('')
    const parts = text.split('/')
    const column = pattern[0]?.column ?? end
    if (parts.length !== 2) throw new RulesError(column, 'A bucket is namespace/bucket; * stands for any: shop/*.')
    const wrong = parts.find(part => part !== '*' && !NAME.test(part))
    if (wrong !== undefined) {
      throw new RulesError(column, `${JSON.stringify(wrong)} is not a name. Use a-z, 0-9, _ and -, or * for any name.`)
    }
    const [namespace, bucket] = parts.map(part => (part === '*' ? undefined : part))
    this.#buckets.push({ namespace, bucket, rules: [] })
  }

  #takeRight(words: readonly Word[], end: number): void {
    const rights = new Set<Right>()
    let i = 0
    for (;;) {
      for (const right of this.#rightsAt(words[i], end)) rights.add(right)
      if (words[i + 1]?.text !== ',') break
      i += 2
    }
    const current = this.#buckets.at(-1)
    if (current === undefined) throw new RulesError(words[0]!.column, 'Name the bucket first: bucket shop/products')
    const condition = words[i + 1] === undefined ? ALWAYS : this.#ifAt(words, i + 1, end)
    for (const right of rights) {
      checkSeen(right, condition, words[0]!)
      current.rules.push({ right, condition })
    }
  }

  #rightsAt(word: Word | undefined, end: number): readonly Right[] {
    if (word?.text === 'write') return WRITES
    const right = RIGHTS.find(name => name === word?.text)
    if (right !== undefined) return [right]
    if (word === undefined) throw new RulesError(end, `One of ${VERBS.join(', ')} is missing here.`)
    const guess = this.#guess(word.text, STATEMENTS)
    throw new RulesError(
      word.column,
      `No line begins with ${word.text}.${guess || ` Lines begin with ${STATEMENTS.join(', ')}.`}`,
    )
  }

  #ifAt(words: readonly Word[], at: number, end: number): Condition {
    const word = words[at]
    if (word?.text !== 'if' || word.kind === 'text') {
      const guess = word && this.#guess(word.text, ['if'])
      throw new RulesError(word?.column ?? end, `if and a condition are missing here.${guess ?? ''}`)
    }
    return new ConditionParser(words, at + 1, end, this.#guess).parse()
  }
}

/** A rule that could never hold is a mistake, and so is one that would hold because what it looks at is missing. */
function checkSeen(right: Right, { looksAt }: Condition, { text, column }: Word): void {
  const unseen = [...looksAt].find(name => !SEEN[right].includes(name))
  if (unseen === undefined) return
  const hint =
    text === 'write' ? ' write stands for create, update and delete: give each its own line.' : ` ${HINT[right]}`
  throw new RulesError(column, `A condition for ${right} cannot look at ${unseen}.${hint}`)
}

const HINT: Readonly<Record<Right, string>> = {
  read: 'It has object, the object as it is.',
  list: 'A list shows what its reader may read, so put the condition on read.',
  create: 'It has new, the object as it would be.',
  update: '',
  delete: 'It has object, the object as it is.',
}
