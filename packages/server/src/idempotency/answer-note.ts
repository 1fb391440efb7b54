/**
 * What an operation's first answer was made of, besides its position and the new values of counters. The store keeps it with the
 * operation, as text, so that the same answer can be given again:
 *
 *     201 ada           an object was written: the status, and its id
 *     2,0               counters were added to: the decimals of each; empty for a transaction without additions
 *     !{"code":...}     it was refused: the problem
 */
import type { Problem } from '@freshet/protocol'

export type AnswerNote =
  | { readonly kind: 'object'; readonly status: 200 | 201; readonly id: string }
  | { readonly kind: 'counters'; readonly decimals: readonly number[] }
  | { readonly kind: 'refusal'; readonly problem: Problem }

const OBJECT = /^(200|201) (.*)$/s
const REFUSED = '!'

export function encodeNote(note: AnswerNote): string {
  switch (note.kind) {
    case 'object':
      return `${note.status} ${note.id}`
    case 'counters':
      return note.decimals.join()
    case 'refusal':
      return REFUSED + JSON.stringify(note.problem)
  }
}

export function decodeNote(text: string): AnswerNote {
  if (text.startsWith(REFUSED)) return { kind: 'refusal', problem: JSON.parse(text.slice(REFUSED.length)) as Problem }
  const [, status, id] = OBJECT.exec(text) ?? []
  if (id !== undefined) return { kind: 'object', status: status === '201' ? 201 : 200, id }
  return { kind: 'counters', decimals: text === '' ? [] : text.split(',').map(Number) }
}
