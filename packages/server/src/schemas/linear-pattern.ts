/**
 * Regular expressions of schemas, matched in time proportional to the length of the text, by RE2JS, a port of RE2
 * (docs/decisions/0028). A backtracking engine takes exponential time for some expressions, and there is no reliable way to
 * detect these beforehand.
 *
 * The language is that of ECMAScript with the flag `u`, as JSON Schema requires. RE2 spells some of it differently, and means
 * something else by `.` and `\s`, so an expression is translated. What RE2 cannot do in linear time is refused: lookaround and
 * references to groups.
 */
import type { RE2JS } from 're2js'

export interface LinearPattern {
  test(text: string): boolean
  /** The expression. The validator treats two patterns with the same text as the same pattern. */
  toString(): string
}

/** The maximum size of a compiled expression: matching costs at most this many steps for each character. */
const PROGRAM_STEPS_MAX = 4096
/** ECMAScript's white space and line ends: \s. */
const SPACES =
  '\\t\\n\\x{b}\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const NOT_SPACES =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'
const ANY_CHARACTER = '[^\\n\\r\\x{2028}\\x{2029}]'
const CONTROLS: Readonly<Record<string, string>> = { f: '\\f', n: '\\n', r: '\\r', t: '\\t', v: '\\x{b}', 0: '\\x{0}' }

/** Throws an Error that says what is wrong with the expression, or not supported. */
export function compilePattern(pattern: string, engine: typeof RE2JS): LinearPattern {
  // Throws if ECMAScript does not accept the expression. The code below relies on its being well-formed.
  new RegExp(pattern, 'u')
  const compiled = compileTranslated(pattern, engine)
  const steps = compiled.programSize()
  if (steps > PROGRAM_STEPS_MAX) {
    throw new Error(
      `the pattern ${JSON.stringify(pattern)} has ${steps} steps, but at most ${PROGRAM_STEPS_MAX} are allowed; shorten its ` +
        'repetitions',
    )
  }
  return { test: text => compiled.test(text), toString: () => pattern }
}

function compileTranslated(pattern: string, engine: typeof RE2JS): RE2JS {
  try {
    return engine.compile(new Translation(pattern).run())
  } catch (cause) {
    if (cause instanceof Unsupported) throw unsupported(pattern, cause.message)
    throw unsupported(pattern, (cause as Error).message.replace(/^error parsing regexp: /, ''), cause)
  }
}

class Unsupported extends Error {}

function unsupported(pattern: string, reason: string, cause?: unknown): Error {
  return new Error(`the pattern ${JSON.stringify(pattern)} cannot be matched in linear time: ${reason}`, { cause })
}

/** Translates from ECMAScript's syntax to RE2's, character by character. */
class Translation {
  readonly #pattern: string
  #at = 0
  #isInClass = false
  #out = ''

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  run(): string {
    while (this.#at < this.#pattern.length) this.#out += this.#next()
    return this.#out
  }

  #next(): string {
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at)!)
    this.#at += character.length
    if (character === '\\') return this.#escape()
    if (this.#isInClass) return this.#inClass(character)
    if (character === '[') return this.#class()
    if (character === '(') return this.#group()
    if (character === '.') return ANY_CHARACTER
    return character
  }

  #class(): string {
    if (this.#takes('^]')) return '[\\x{0}-\\x{10ffff}]'
    if (this.#takes(']')) return '[^\\x{0}-\\x{10ffff}]'
    this.#isInClass = true
    return this.#takes('^') ? '[^' : '['
  }

  #inClass(character: string): string {
    if (character === ']') this.#isInClass = false
    // In RE2, a bracket may start [:alpha:].
    return character === '[' ? '\\[' : character
  }

  #group(): string {
    if (this.#takes('?:')) return '(?:'
    for (const look of ['?=', '?!', '?<=', '?<!']) {
      if (this.#takes(look)) throw new Unsupported(`it looks ahead or behind with (${look}...)`)
    }
    const name = /^\?<[^>]+>/.exec(this.#pattern.slice(this.#at))
    if (name !== null) this.#at += name[0].length
    else if (this.#takes('?')) throw new Unsupported('it changes flags within a group')
    // No group needs to capture.
    return '(?:'
  }

  #escape(): string {
    const letter = this.#pattern[this.#at++]!
    if (letter === 'u') return this.#unicode()
    if (letter === 'x') return codePoint(Number.parseInt(this.#take(2), 16))
    if (letter === 'c') return codePoint(this.#take(1).charCodeAt(0) % 32)
    if (letter === 'p' || letter === 'P') return this.#property(letter)
    if (letter === 's') return this.#isInClass ? SPACES : `[${SPACES}]`
    if (letter === 'S') return this.#isInClass ? NOT_SPACES : `[${NOT_SPACES}]`
    if (letter === 'b' && this.#isInClass) return '\\x{8}'
    if (letter === 'k' || /[1-9]/.test(letter)) throw new Unsupported('it refers to a group')
    // d, D, w, W, b and B mean the same in both, and so does every escaped character of the syntax.
    return CONTROLS[letter] ?? `\\${letter}`
  }

  #unicode(): string {
    if (this.#takes('{')) {
      const end = this.#pattern.indexOf('}', this.#at)
      const digits = this.#take(end - this.#at)
      this.#at++
      return codePoint(Number.parseInt(digits, 16))
    }
    const first = Number.parseInt(this.#take(4), 16)
    const second = /^\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(this.#pattern.slice(this.#at))
    if (first < 0xd800 || first > 0xdbff || second === null) return codePoint(first)
    this.#at += second[0].length
    return codePoint(0x10000 + (first - 0xd800) * 0x400 + (Number.parseInt(second[1]!, 16) - 0xdc00))
  }

  /** General categories and scripts have the same short names in both. */
  #property(letter: string): string {
    const end = this.#pattern.indexOf('}', this.#at)
    const name = this.#take(end - this.#at + 1).slice(1, -1)
    const short = name.replace(/^(?:Script|sc|General_Category|gc)=/, '')
    if (short === 'Any') return this.#isInClass && letter === 'p' ? '\\x{0}-\\x{10ffff}' : `\\${letter}{Any}`
    if (/^(?:Script_Extensions|scx)=/.test(name) || !/^(?:\p{Lu}\p{Ll}?|\p{Lu}[\p{L}_]{2,})$/u.test(short)) {
      throw new Unsupported(`\\${letter}{${name}} is not known`)
    }
    return `\\${letter}{${short}}`
  }

  #takes(text: string): boolean {
    if (!this.#pattern.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #take(length: number): string {
    const text = this.#pattern.slice(this.#at, this.#at + length)
    this.#at += length
    return text
  }
}

function codePoint(code: number): string {
  if (code >= 0xd800 && code <= 0xdfff) throw new Unsupported('it names half of a surrogate pair')
  return `\\x{${code.toString(16)}}`
}
