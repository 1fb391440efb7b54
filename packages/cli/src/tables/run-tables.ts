/** `freshet tables`: makes tables of a database buckets, tells how far it is, and undoes it. */
import { FreshetError } from '@freshet/protocol'
import { type Exposure, exposedTables, exposeTable, unexposeTable } from '@freshet/stores/postgres'
import type { TablesLine } from './tables-line.js'

const EXIT_FAILED = 1
const SHOWN_EVERY_MS = 500

export async function runTables(line: TablesLine): Promise<number> {
  try {
    await act(line)
    return 0
  } catch (error) {
    clearLine()
    if (!(error instanceof FreshetError)) throw error
    console.error(error.message)
    return EXIT_FAILED
  }
}

async function act({ action, store: url, bucket, table, columns, isJson }: TablesLine): Promise<void> {
  if (action === 'list') {
    const exposed = await exposedTables({ url })
    if (isJson) console.log(JSON.stringify({ tables: exposed }))
    else for (const exposure of exposed) console.log(describe(exposure))
  } else if (action === 'remove') {
    await unexposeTable({ url, bucket })
    console.log(
      isJson ? JSON.stringify({ removed: bucket }) : `${bucket} is no bucket any more. Its table is as it was.`,
    )
  } else {
    const onProgress = createDisplay()
    const exposure = await exposeTable({ url, bucket, table, onProgress, ...(columns && { columns }) })
    clearLine()
    console.log(isJson ? JSON.stringify(exposure) : describe(exposure))
  }
}

function describe({ bucket, table, columns, key, isGone }: Exposure): string {
  const gone = isGone ? ' The table, or its key, is not there any more: freshet tables remove.' : ''
  return `${bucket} is the table ${table}, by ${key.join(', ')}: ${columns.join(', ')}.${gone}`
}

/** A line that is written over on a terminal; else lines, now and then. */
function createDisplay(): (done: number, total: number) => void {
  let shownMs = performance.now()
  return (done, total) => {
    const nowMs = performance.now()
    const isTerminal = process.stderr.isTTY === true
    if (nowMs - shownMs < SHOWN_EVERY_MS * (isTerminal ? 1 : 10)) return
    shownMs = nowMs
    process.stderr.write(`${isTerminal ? '\r\u001b[K' : ''}${done} of ${total} rows${isTerminal ? ' ' : '\n'}`)
  }
}

function clearLine(): void {
  if (process.stderr.isTTY === true) process.stderr.write('\r\u001b[K')
}
