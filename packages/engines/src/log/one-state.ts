/**
 * Several reads of one state, over a log. Rows have no snapshots. So rows are read first, the log is looked at afterwards, and
 * its changes are put over the rows.
 *
 *     pin the mirror │ read: rows, each with the changes known so far │ look at the log │ nothing that was read has changed: done
 *                                                                                       │ else: read again, with the changes
 *
 * Reading again does not fetch rows that were taken before, as they are as good as new: the log now has every change since they
 * were taken. So it needs no look either, unless it needs rows that were not taken yet. However fast other servers commit, a
 * read ends: at the latest when it has taken all the rows of the bucket.
 */
import type { Position } from '@freshet/core/store'
import { EngineBusy, EngineLost, type Subject, type View } from '@freshet/store/engine'
import type { LogRecord } from './log-record.js'
import { LogView, type ViewParts } from './log-view.js'
import { TakenRows } from './taken-rows.js'

export interface OneStateParts extends ViewParts {
  /** Makes the mirror follow the log to its end. */
  look(): Promise<void>
}

export async function readOneState<Result extends { readonly position: Position }>(
  parts: OneStateParts,
  subject: Subject,
  read: (view: View) => Promise<Result>,
): Promise<Result> {
  const { mirror, pin, rows, look } = parts
  const taken = new TakenRows(rows)
  let lookedAfter = -1
  for (;;) {
    const { slot } = mirror
    const attempt = await attempted(read(new LogView(parts, taken)))
    if (taken.times > lookedAfter) {
      lookedAfter = taken.times
      await look()
    }
    if (pin.recordsSince().some(record => record.slot > slot && concerns(record, subject))) continue
    if ('error' in attempt) throw attempt.error
    return { ...attempt.result, position: mirror.state.position }
  }
}

type Attempt<Result> = { readonly result: Result } | { readonly error: unknown }

/** The parts that were read may not have been of one state, and then they may have looked damaged. */
async function attempted<Result>(reading: Promise<Result>): Promise<Attempt<Result>> {
  try {
    return { result: await reading }
  } catch (error) {
    if (error instanceof EngineLost || error instanceof EngineBusy) throw error
    return { error }
  }
}

/** A query depends only on the objects and the indexes of its bucket: entries and tags change with them. */
function concerns({ effects }: LogRecord, { bucket, keys = [] }: Subject): boolean {
  if (bucket !== undefined && (effects.buckets.has(bucket) || effects.indexes.has(bucket))) return true
  return keys.some(key => effects.objects.has(key))
}
