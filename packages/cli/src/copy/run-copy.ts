/** `freshet copy`: opens both stores, copies, shows its progress, and compares them at the end. */
import { realpath } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { FreshetError } from '@freshet/protocol'
import { isEngine, withoutPassword } from '../config/store-kind.js'
import { openNamedStore } from '../places/open-store.js'
import { type LongRun, untilStopped } from '../terminal/until-stopped.js'
import { type CopyLine, oneStore } from './copy-line.js'
import { openSource } from './copy-source.js'
import { type CopyOptions, type CopyProgress, type CopyReport, StoreCopy } from './copy-store.js'

const FOLLOW_MS = 200

export function runCopy(line: CopyLine): Promise<number> {
  const whenStopped = 'Stopped. Run the same command to continue from here.'
  return untilStopped({ whenStopped, isJson: line.isJson }, async run => {
    const onWarning = (warning: string) => console.error(warning)
    const from = await openSource(line.from, onWarning)
    try {
      await refuseOneFolder(line)
      const to = await openNamedStore(line.to, onWarning)
      await copy(line, { from, to }, run)
        .catch(adviseToContinue)
        .finally(() => to.close())
      return 0
    } finally {
      await from.close()
    }
  })
}

/** Called before the folder is opened a second time. Other stores differ by their logs. */
async function refuseOneFolder({ from, to }: CopyLine): Promise<void> {
  if (isEngine(from) || isEngine(to)) return
  const [source, target] = await Promise.all([from, to].map(path => realpath(path).catch(() => undefined)))
  if (source !== undefined && source === target) throw oneStore()
}

/** Adds advice to errors that may go away later. */
function adviseToContinue(error: unknown): never {
  if (!(error instanceof FreshetError) || !['STORE_FULL', 'STORE_UNAVAILABLE'].includes(error.code)) throw error
  const message = `${error.message} What was copied is kept: run the same command to continue from there.`
  throw new FreshetError(error.code, message, { cause: error })
}

async function copy(line: CopyLine, stores: Pick<CopyOptions, 'from' | 'to'>, run: LongRun): Promise<void> {
  const { signal, progress } = run
  const onProgress = ({ phase: what, done, bucket: at }: CopyProgress) => progress.show({ what, done, at })
  const copying = new StoreCopy({ ...stores, onProgress, signal })
  const report = await copying.run()
  progress.clear()
  print(report, line)
  if (line.follows) await follow(copying, line, run)
}

/** Runs until it is stopped, which is the only way to end it. */
async function follow(copying: StoreCopy, line: CopyLine, { signal, progress }: LongRun): Promise<void> {
  console.error('Following changes. Stop the servers over the source, then press Ctrl-C here.')
  const printReport = (report: CopyReport | undefined) => {
    progress.clear()
    if (report) print(report, line)
  }
  while (!signal.aborted) {
    await copying.follow().then(printReport, error => {
      if (!signal.aborted) throw error
    })
    await delay(FOLLOW_MS, undefined, { signal }).catch(() => undefined)
  }
  const { position, compared } = await copying.finish()
  printReport(compared)
  console.error(`Stopped. The target has everything that the source had at position ${position}.`)
}

function print({ copied, compared, repaired, position }: CopyReport, { isJson, to }: CopyLine): void {
  if (isJson) console.log(JSON.stringify({ copied, compared, repaired, position }))
  else console.log(`${copied} copied to ${withoutPassword(to)}, ${compared} compared: the stores are identical.`)
}
