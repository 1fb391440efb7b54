/**
 * CSV as RFC 4180 has it, and objects in it.
 *
 * A cell is JSON where it can be read as JSON (42, true, null, {"a":1}), else text as it stands; an empty cell is a field that is
 * not there. A text that would be read as JSON, or is empty, is written as a JSON string. So what is read is what was written, to the
 * last digit. A text with line breaks keeps them, in quotes: a record may be several lines.
 *
 * The column `id` is the object's id. A field that is called id has the column `.id`; one that begins with a dot gets another.
 */
import { parseJsonTree } from '@freshet/server/configuration'

export const ID_COLUMN = 'id'

/** As the field stands in the object's text; undefined: it is not there. */
export function cellOf(json: string | undefined): string {
  if (json === undefined) return ''
  if (!json.startsWith('"')) return json
  const text = JSON.parse(json) as string
  return text === '' || isJson(text) ? JSON.stringify(text) : text
}

/** JSON; undefined: the field is not there. */
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

/** Without the line feed that ends it: records end with CRLF. */
export function csvLine(cells: readonly string[]): string {
  const spelled = cells.map(cell => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
  return `${spelled.join(',')}\r`
}

/** Lines to records: while a quote is open, the record goes on in the next line. */
export class CsvRecords {
  #lines: string[] = []
  #isOpen = false

  /** Whether the next line belongs to a record that has begun. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** A line, without its line feed. Undefined: the record is not whole yet. */
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
      if (cell.includes('"')) throw new Error('a quote stands within a cell that does not begin with one')
      cells.push(cell)
      at = end + 1
      continue
    }
    let end = record.indexOf('"', at + 1)
    while (end !== -1 && record[end + 1] === '"') end = record.indexOf('"', end + 2)
    if (end === -1) throw new Error('a quote is not closed')
    cells.push(record.slice(at + 1, end).replaceAll('""', '"'))
    if (end + 1 < record.length && record[end + 1] !== ',') throw new Error('something follows a closing quote')
    at = end + 2
  }
  return cells
}

function indexOfOr(text: string, sought: string, from: number): number {
  const at = text.indexOf(sought, from)
  return at === -1 ? text.length : at
}
