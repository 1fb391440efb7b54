/** A line of a rules file as words: names, texts, numbers and signs, each with its column. A `#` begins a comment. */
import { isExactNumber } from '@freshet/protocol'
import { RulesError } from './rules-mistake.js'

export interface Word {
  readonly kind: 'name' | 'text' | 'number' | 'sign'
  readonly text: string
  /** Of texts and numbers. */
  readonly value?: string | number
  readonly column: number
}

const WORD =
  /\s+|#.*|(?<name>[A-Za-z_][A-Za-z0-9_-]*)|(?<text>"(?:[^"\\]|\\.)*")|(?<number>-?[0-9]+(?:\.[0-9]+)?)|(?<sign>==|!=|<=|>=|[<>()[\],./*{}])/y

/** Throws a RulesError. */
export function readWords(line: string): readonly Word[] {
  const words: Word[] = []
  WORD.lastIndex = 0
  while (WORD.lastIndex < line.length) {
    const column = WORD.lastIndex + 1
    const groups = WORD.exec(line)?.groups
    if (groups === undefined) throw new RulesError(column, strange(line[column - 1]!))
    const { name, text, number, sign } = groups
    if (name !== undefined) words.push({ kind: 'name', text: name, column })
    if (text !== undefined) words.push({ kind: 'text', text, value: readText(text, column), column })
    if (number !== undefined) words.push({ kind: 'number', text: number, value: readNumber(number, column), column })
    if (sign !== undefined) words.push({ kind: 'sign', text: sign, column })
  }
  return words
}

function readText(text: string, column: number): string {
  try {
    return JSON.parse(text) as string
  } catch {
    throw new RulesError(column, `${text} is not a valid text. Write texts as in JSON.`)
  }
}

function readNumber(text: string, column: number): number {
  if (isExactNumber(text)) return Number(text)
  throw new RulesError(column, `${text} would be rounded. Write it as text, or with fewer digits.`)
}

function strange(character: string): string {
  if (character === '"') return 'The text that begins here does not end on this line.'
  if (character === "'") return 'Write texts with double quotes.'
  if (character === '=') return 'Write a comparison with ==.'
  if (character === '&' || character === '|' || character === '!') return 'Join conditions with and, or, not.'
  return `${JSON.stringify(character)} has no meaning here.`
}
