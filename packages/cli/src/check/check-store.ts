/**
 * `freshet check store`: is everything in a store as it was written? An embedded store is examined page by page, even while a
 * server uses it; from an engine every object is read, so that the engine makes its own checks. `--salvage` copies everything
 * undamaged into a new store. Exit code 0: no damage; 1: damage, or the store could not be examined.
 */
import type { Store } from '@freshet/core/store'
import { type Examination, type ExamineStoreOptions, examineEmbeddedStore } from '@freshet/engines/lmdb'
import { isEngine, withoutPassword } from '../config/store-kind.js'
import { openNamedStore } from '../places/open-store.js'
import { type LongRun, untilStopped } from '../terminal/until-stopped.js'
import type { CheckStoreLine } from './check-store-line.js'
import { type Salvaged, salvageStore } from './salvage-store.js'

const PAGE = 500
/** How many are printed, unless as JSON. */
const DAMAGES_SHOWN = 20

export function checkStore(line: CheckStoreLine): Promise<number> {
  return untilStopped({ whenStopped: 'Stopped.', isJson: line.isJson }, async run => {
    const { store } = line.place
    const report = isEngine(store) ? await readEngine(store, run) : await examineFolder(line, run)
    run.progress.clear()
    const { damages } = report
    if (line.isJson) console.log(JSON.stringify({ store: withoutPassword(store), ...report }))
    else process.stdout.write(textOf(withoutPassword(store), report))
    return damages.length === 0 ? 0 : 1
  })
}

interface Report extends Pick<Examination, 'records' | 'damages'> {
  readonly hasChecksums?: boolean
  readonly salvaged?: Salvaged & { readonly to: string }
}

async function examineFolder({ place, salvageTo }: CheckStoreLine, run: LongRun): Promise<Report> {
  if (salvageTo === undefined) return withoutBytes(await examineEmbeddedStore({ path: place.store, ...watched(run) }))
  const { examination, ...salvaged } = await salvageStore({ from: place.store, to: salvageTo, ...watched(run) })
  return { ...withoutBytes(examination), salvaged: { ...salvaged, to: salvageTo } }
}

/** Shows the progress, and ends the run when it is stopped. */
function watched({ progress, signal }: LongRun): Required<Pick<ExamineStoreOptions, 'onProgress'>> {
  return {
    onProgress: (done: number, total: number) => {
      signal.throwIfAborted()
      progress.show({ what: 'examining, MiB', done: toMib(done), total: toMib(total) })
    },
  }
}

function toMib(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20)
}

function withoutBytes({ records, damages, hasChecksums }: Examination): Report {
  return { records, damages, hasChecksums }
}

async function readEngine(url: string, { progress, signal }: LongRun): Promise<Report> {
  const store = await openNamedStore(url, warning => console.error(warning))
  try {
    let records = 0
    for (const { bucket } of await store.buckets()) {
      for await (const entries of pagesOf(store, bucket)) {
        signal.throwIfAborted()
        records += entries
        progress.show({ what: 'reading', done: records, at: bucket })
      }
    }
    return { records, damages: [] }
  } finally {
    await store.close()
  }
}

async function* pagesOf(store: Store, bucket: string): AsyncGenerator<number> {
  for (let after: string | undefined, isEnd = false; !isEnd; ) {
    const page = await store.scan(bucket, { limit: PAGE, ...(after === undefined ? {} : { after }) })
    yield page.entries.length
    after = page.next
    isEnd = after === undefined
  }
}

function textOf(name: string, { records, damages, hasChecksums = true, salvaged }: Report): string {
  const lines = [
    `${name}: ${records} records read, ${damages.length === 0 ? 'no damage found' : `${damages.length} damaged`}.`,
  ]
  if (!hasChecksums) lines.push('Its records have no checksums yet. The next server that opens the store adds them.')
  for (const { what } of damages.slice(0, DAMAGES_SHOWN)) lines.push(`- ${what}`)
  if (damages.length > DAMAGES_SHOWN) lines.push(`- and ${damages.length - DAMAGES_SHOWN} more; --json lists them`)
  if (salvaged) lines.push(`${salvaged.objects} undamaged objects and buckets were copied to ${salvaged.to}.`)
  else if (damages.some(({ key }) => key === undefined))
    lines.push(`To copy what is undamaged: freshet check store --data ${name} --salvage new`)
  else if (damages.length > 0)
    lines.push(`To restore it from a backup, while no server runs: freshet restore backups --data ${name} --damaged`)
  return `${lines.join('\n')}\n`
}
