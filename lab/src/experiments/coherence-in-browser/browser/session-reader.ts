/** A session of the real client: it reads in every mode, and writes now and then, through whatever caches there are. */
import { connect, type Database, type Stored, versionOf } from '@freshet/client'
import { readModes, STALENESS_MS } from '../../../coherence-load/read-modes.js'
import { BUCKET, GROUPS, type Item, OBJECT_IDS } from '../../../coherence-load/stored-items.js'
import type { Random } from '../../../harness/random.js'
import type { EndStep, PageSettings } from '../page-protocol.js'
import type { RequestSources } from './request-sources.js'
import type { StepLog } from './step-log.js'

export interface SessionReaderOptions {
  readonly reader: number
  readonly refresh: PageSettings['refreshes'][number]
  readonly random: Random
  readonly log: StepLog
  readonly sources: RequestSources
  /** A number that no other writer uses. */
  readonly nextNumber: () => number
  /** Called after each read with the URL (path and query) of the answer. */
  readonly onRead: (url: string) => void
}

const LANES = 3
/** Long, so that only a read that hangs fails, and not one that waits for a busy processor. */
const READ_MS_MAX = 60_000
const WRITE_SHARE = 0.02
const GROUP_SHARE = 0.04
const MODES = readModes(6)

export async function runSessionReader(options: SessionReaderOptions, isOver: () => boolean): Promise<void> {
  const { refresh, sources, onRead, random } = options
  const db = await connect(location.origin, {
    refresh,
    staleness: STALENESS_MS,
    timeoutMs: READ_MS_MAX,
    fetch: sources.fetch,
    onRead: ({ path, at }) => onRead(urlOf(path, at)),
  })
  const lane = async () => {
    while (!isOver()) {
      const chance = random.float()
      if (chance < WRITE_SHARE) await write(options, db)
      else if (chance < WRITE_SHARE + GROUP_SHARE) await readGroup(options, db)
      else await readOne(options, db)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  db.close()
}

async function write({ reader, random, log, nextNumber }: SessionReaderOptions, db: Database): Promise<void> {
  const id = random.pick(OBJECT_IDS)
  const number = nextNumber()
  const { position } = await db.bucket<Item>(BUCKET).put(id, { number, padding: '' })
  log.add({ kind: 'wrote', reader, timeMs: performance.now(), id, position, number })
}

async function readOne(options: SessionReaderOptions, db: Database): Promise<void> {
  const id = options.random.pick(OBJECT_IDS)
  const { mode, ageMs } = options.random.pick(MODES)
  const what = `a read (${JSON.stringify(mode)})`
  await logged(options, [id], what, ageMs, async () => [await db.bucket<Item>(BUCKET).get(id, { read: mode })])
}

async function readGroup(options: SessionReaderOptions, db: Database): Promise<void> {
  const ids = options.random.pick(GROUPS)
  await logged(options, ids, 'a read of several', STALENESS_MS, () => db.bucket<Item>(BUCKET).getMany(ids))
}

async function logged(
  { reader, log }: SessionReaderOptions,
  ids: readonly string[],
  what: string,
  ageMs: number,
  read: () => Promise<readonly (Stored<Item> | undefined)[]>,
): Promise<void> {
  const begun = ids.map(id => {
    const number = log.nextRead()
    log.add({ kind: 'begin', reader, timeMs: performance.now(), read: number, id, what, ageMs })
    return number
  })
  try {
    const items = await read()
    const timeMs = performance.now()
    for (const [i, item] of items.entries()) {
      const url = urlOf(`/db/${BUCKET}/${ids[i]}`, item?.served.at)
      log.add({ kind: 'end', reader, timeMs, read: begun[i]!, url, found: foundIn(item) })
    }
  } catch (error) {
    const timeMs = performance.now()
    for (const each of begun) log.add({ kind: 'fail', reader, timeMs, read: each, message: String(error) })
  }
}

function foundIn(item: Stored<Item> | undefined): EndStep['found'] {
  return item && { version: versionOf(item), number: item.number }
}

function urlOf(path: string, at: number | undefined): string {
  return at === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}at=${at}`
}
