import { expect, test } from 'vitest'
import { type AnswerNote, decodeNote, encodeNote } from './answer-note.js'

const PROBLEM = {
  ...{ type: '/errors/VERSION_CONFLICT', title: 'Version conflict', status: 412, code: 'VERSION_CONFLICT' as const },
  detail: 'The condition does not hold.',
}

/** As stores have them on disk. */
const NOTES: readonly (readonly [string, AnswerNote])[] = [
  ['201 ada', { kind: 'object', status: 201, id: 'ada' }],
  ['200 with space\nand 201', { kind: 'object', status: 200, id: 'with space\nand 201' }],
  ['', { kind: 'counters', decimals: [] }],
  ['2', { kind: 'counters', decimals: [2] }],
  ['2,0,9', { kind: 'counters', decimals: [2, 0, 9] }],
  [`!${JSON.stringify(PROBLEM)}`, { kind: 'refusal', problem: PROBLEM }],
]

test.each(NOTES)('%j is read from the store, and its format is unchanged', (text, note) => {
  expect(decodeNote(text)).toEqual(note)
  expect(encodeNote(note)).toBe(text)
})
