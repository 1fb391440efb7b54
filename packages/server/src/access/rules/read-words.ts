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
    throw new RulesError(column, `${text} is no text. A text is written as in JSON.`)
  }
}

function readNumber(text: string, column: number): number {
  if (isExactNumber(text)) return Number(text)
  throw new RulesError(column, `${text} would be rounded. Write it as a text, or with fewer digits.`)
}

function strange(character: string): string {
  if (character === '"') return 'A text begins here and does not end on this line.'
  if (character === "'") return 'Texts are written with double quotes.'
  if (character === '=') return 'A comparison is written ==.'
  if (character === '&' || character === '|' || character === '!') return 'Conditions are joined by and, or, not.'
  return `${JSON.stringify(character)} means nothing here.`
}
