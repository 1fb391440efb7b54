/** The end of a transaction: the statements that write. */

import type { Key, StoredValue } from '@freshet/core/store'
import { spellForeign, spellWindow } from '@freshet/store/commits'
import type { Changes } from '@freshet/store/database'
import { encodeNumbers } from '@freshet/store/indexes'
import { encodeLogBatch } from '@freshet/store/records'
import { byteStrings, doubles, integers, texts } from './arrays.js'
import type { StatementName } from './statements.js'

/** The statements that write, with their values; only those that have something to write. */
export function writesOf(changes: Changes, engineMs: number, channel: string): [StatementName, unknown[]][] {
  const { values, indexes, numbers, entries, tags, windows, foreign, log, timeMs } = changes
  const removed = [...values].filter(each => each[1] === undefined).map(([key]) => key)
  const kept = [...entries.values()].filter(({ isThere }) => isThere).map(({ key }) => key)
  const dropped = [...entries.values()].filter(({ isThere }) => !isThere).map(({ key }) => key)
  const all: [StatementName, number, () => unknown[]][] = [
    ['putCommits', log ? 1 : 0, () => [...valuesOf(changes), ...logOf(changes), timeMs, engineMs, channel]],
    ['putTime', log ? 0 : 1, () => [timeMs, engineMs]],
    ['putNumbers', numbers ? 1 : 0, () => [Buffer.from(encodeNumbers(numbers!)).toString()]],
    ['removeValues', removed.length, () => [texts(removed)]],
    ['putIndexes', indexes.size, () => [texts(indexes.keys()), byteTexts(indexes.values())]],
    ['dropEntries', dropped.length, () => [byteStrings(dropped)]],
    ['putEntries', kept.length, () => [byteStrings(kept)]],
    ['putTags', tags.size, () => [texts(tags.keys()), integers(tags.values())]],
    [
      'putClients',
      windows.size,
      () => [
        texts(windows.keys()),
        doubles(Array.from(windows.values(), ({ lastMs }) => lastMs)),
        texts(Array.from(windows.values(), spellWindow)),
      ],
    ],
    [
      'putForeign',
      foreign.size,
      () => [
        texts(foreign.keys()),
        doubles(Array.from(foreign.values(), ({ timeMs }) => timeMs)),
        texts(Array.from(foreign.values(), spellForeign)),
      ],
    ],
  ]
  return all.filter(([, count]) => count > 0).map(([name, , make]) => [name, make()])
}

function valuesOf({ values, buckets }: Changes): Buffer[] {
  const written = [...values].filter((each): each is [Key, StoredValue] => each[1] !== undefined)
  return [
    texts(written.map(([key]) => key)),
    integers(written.map(([, { version }]) => version)),
    texts(written.map(([, { contentType }]) => contentType)),
    byteStrings(written.map(([, { body }]) => body)),
    texts(buckets.keys()),
    integers(buckets.values()),
  ]
}

function logOf({ position, timeMs, log }: Changes): unknown[] {
  return [position, log!.batch, encodeLogBatch(timeMs, log!.commits)]
}

/** Texts that are already bytes. */
function byteTexts(values: Iterable<Uint8Array>): Buffer {
  return texts(Array.from(values, value => Buffer.from(value).toString()))
}
