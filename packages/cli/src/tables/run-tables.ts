/** `freshet tables`: attaches tables of a database as buckets, lists them, and detaches them. */

import type { Exposure } from '@freshet/engines/postgres'
import { FreshetError } from '@freshet/protocol'
import { type Progress, ProgressLine } from '../terminal/progress.js'
import { tellFailure } from '../terminal/tell-failure.js'
import type { TablesLine } from './tables-line.js'

const EXIT_FAILED = 1

export async function runTables(line: TablesLine): Promise<number> {
  try {
    await act(line)
    return 0
  } catch (error) {
    if (!(error instanceof FreshetError)) throw error
    tellFailure(error, line.isJson)
    return EXIT_FAILED
  }
}

type Tables = Pick<typeof import('@freshet/engines/postgres'), 'exposedTables' | 'exposeTable' | 'unexposeTable'>

async function act({ action, store: url, bucket, table, columns, isJson }: TablesLine): Promise<void> {
  const { exposedTables, exposeTable, unexposeTable } = await tablesOf(url)
  if (action === 'list') {
    const exposed = await exposedTables({ url })
    if (isJson) console.log(JSON.stringify({ tables: exposed }))
    else for (const exposure of exposed) console.log(describe(exposure))
  } else if (action === 'remove') {
    await unexposeTable({ url, bucket })
    console.log(
      isJson ? JSON.stringify({ removed: bucket }) : `${bucket} is no longer a bucket. Its table is unchanged.`,
    )
  } else {
    const exposure = await add(exposeTable, { url, bucket, table, ...(columns && { columns }) })
    console.log(isJson ? JSON.stringify(exposure) : describe(exposure))
  }
}

function tablesOf(url: string): Promise<Tables> {
  return /^(mariadb|mysql):/.test(url) ? import('@freshet/engines/mariadb') : import('@freshet/engines/postgres')
}

const UNFINISHED = {
  adding: ' It is not attached completely. To finish: freshet tables add',
  removing: ' It is not detached completely. To finish: freshet tables remove',
}

function describe({ bucket, table, columns, key, isGone, phase }: Exposure): string {
  const gone = isGone ? ' The table, or its key, no longer exists. To detach it: freshet tables remove' : ''
  return `${bucket} is the table ${table}, with the key ${key.join(', ')} and the columns ${columns.join(', ')}.${gone}${phase ? UNFINISHED[phase] : ''}`
}

/** Shows progress from the start, because counting the rows alone may take long. */
function add(
  exposeTable: Tables['exposeTable'],
  options: {
    readonly url: string
    readonly bucket: string
    readonly table: string
    readonly columns?: readonly string[]
  },
): Promise<Exposure> {
  let progress: Progress = { what: 'noting rows', done: 0 }
  const onProgress = (done: number, total: number) => {
    progress = { what: 'taking rows', done, total }
  }
  return new ProgressLine().during(
    () => progress,
    () => exposeTable({ ...options, onProgress }),
  )
}
