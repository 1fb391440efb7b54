/**
 * CSV as in RFC 4180, and objects in it.
 *
 * A cell that can be read as JSON is JSON (42, true, null, {"a":1}); any other cell is text; an empty cell is an absent field.
 * A text that would be read as JSON, or is empty, is written as a JSON string. So values are read back as they were written, to
 * the last digit. A text with line breaks keeps them, in quotes: a record may have several lines.
 *
 * The column `id` is the object's id. A field called id has the column `.id`; a field that begins with a dot gets another dot.
 */
import { parseJsonTree } from '@freshet/server/configuration'

export const ID_COLUMN = 'id'

/** `json` is the field's text in the object; undefined: the field is absent. */
export function cellOf(json: string | undefined): string {
  if (json === undefined) return ''
  if (!json.startsWith('"')) return json
  const text = JSON.parse(json) as string
  return text === '' || isJson(text) ? JSON.stringify(text) : text
}

/** The JSON of a cell; undefined: the field is absent. */
export function jsonOfCell(cell: string, isText: boolean): string | undefined {
  if (cell === '') return undefined
  return !isText && isJson(cell) ? cell : JSON.stringify(cell)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export function columnOf(field: string): string {
  return field === ID_COLUMN || field.startsWith('.') ? `.${field}` : field
}

export function fieldOf(column: string): string {
  return column.startsWith('.') ? column.slice(1) : column
}

/** The fields of an object, each as JSON text. */
export function fieldsOf(text: string): ReadonlyMap<string, string> {
  return new Map([...parseJsonTree(text, 1).members!].map(([name, { text }]) => [name, text]))
}

/** A record without its final line feed: records end with CRLF. */
export function csvLine(cells: readonly string[]): string {
  const spelled = cells.map(cell => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
  return `${spelled.join(',')}\r`
}

/** Lines to records: while a quote is open, the record continues in the next line. */
export class CsvRecords {
  #lines: string[] = []
  #isOpen = false

  /** Whether the next line belongs to a record that has begun. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** A line, without its line feed. Undefined: the record is not complete yet. */
  take(line: string): string | undefined {
    this.#lines.push(line)
    for (let at = line.indexOf('"'); at !== -1; at = line.indexOf('"', at + 1)) this.#isOpen = !this.#isOpen
    if (this.#isOpen) return undefined
    const record = this.#lines.join('\n')
    this.#lines = []
    return record.endsWith('\r') ? record.slice(0, -1) : record
  }
}

/** Throws an Error whose message says what is wrong. */
export function splitCsv(record: string): string[] {
  const cells: string[] = []
  for (let at = 0; at <= record.length; ) {
    if (record[at] !== '"') {
      const end = indexOfOr(record, ',', at)
      const cell = record.slice(at, end)
      if (cell.includes('"')) throw new Error('there is a quote within a cell that does not begin with one')
      cells.push(cell)
      at = end + 1
      continue
    }
    let end = record.indexOf('"', at + 1)
    while (end !== -1 && record[end + 1] === '"') end = record.indexOf('"', end + 2)
    if (end === -1) throw new Error('a quote is not closed')
    cells.push(record.slice(at + 1, end).replaceAll('""', '"'))
    if (end + 1 < record.length && record[end + 1] !== ',') throw new Error('text follows a closing quote')
    at = end + 2
  }
  return cells
}

function indexOfOr(text: string, sought: string, from: number): number {
  const at = text.indexOf(sought, from)
  return at === -1 ? text.length : at
}
