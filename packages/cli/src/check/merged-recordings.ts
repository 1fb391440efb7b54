/**
 * Several recordings as one stream, roughly in the order in which things happened: by each line's time, moved by what its
 * session last recorded about its clock. Roughly is enough: the checker waits some seconds before it judges.
 */
import type { HistoryRecord } from '@freshet/core/history'

type Batches = AsyncGenerator<HistoryRecord[], void, undefined>

interface Source {
  readonly batches: Batches
  readonly offsets: Map<string, number>
  records: HistoryRecord[]
  next: number
  timeUs: number
}

export async function* mergeRecordings(recordings: readonly Batches[]): Batches {
  const [only] = recordings
  if (recordings.length === 1 && only !== undefined) {
    yield* only
    return
  }
  const sources = recordings.map(batches => ({
    ...{ batches, offsets: new Map(), records: [], next: 0, timeUs: Number.NEGATIVE_INFINITY },
  }))
  let open: Source[] = await fillAll(sources)
  while (open.length > 0) {
    const batch: HistoryRecord[] = []
    // Until one of them runs out of records, there is nothing to wait for.
    while (open.every(({ next, records }) => next < records.length)) batch.push(take(earliest(open)))
    yield batch
    open = await fillAll(open)
  }
}

async function fillAll(sources: readonly Source[]): Promise<Source[]> {
  const open: Source[] = []
  for (const source of sources) if (await fill(source)) open.push(source)
  return open
}

/** False at the end of the recording. */
async function fill(source: Source): Promise<boolean> {
  while (source.next >= source.records.length) {
    const { value, done } = await source.batches.next()
    if (done) return false
    source.records = value
    source.next = 0
  }
  estimate(source)
  return true
}

function take(source: Source): HistoryRecord {
  const record = source.records[source.next++]!
  if (source.next < source.records.length) estimate(source)
  return record
}

/** Roughly when its next line was recorded, by the server's clock; if unknown, the time of the line before. */
function estimate(source: Source): void {
  const record = source.records[source.next]!
  const { offsets } = source
  if (record.op === 'session' && record.lo !== undefined && record.hi !== undefined) {
    offsets.set(record.s, (record.lo + record.hi) / 2)
  }
  const offset = offsets.get(record.s)
  if (offset !== undefined) source.timeUs = offset + ('e' in record ? record.e : record.t)
}

function earliest(sources: readonly Source[]): Source {
  return sources.reduce((first, source) => (source.timeUs < first.timeUs ? source : first))
}
