/**
 * `freshet backup`: everything the first time, then what has changed, beside a running server. `--follow` keeps running, and
 * `--verify` checks a folder of backups.
 */
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { makeFolder, type StoreState } from '@freshet/engines/lmdb'
import { FreshetError } from '@freshet/protocol'
import { openState } from '../places/open-store.js'
import type { StorePlace } from '../places/place.js'
import { type LongRun, untilStopped } from '../terminal/until-stopped.js'
import { LineWriter } from '../transfer/line-writer.js'
import { damageReport, type Mark, readFolder, readSegment, segmentNumbers, segmentPath } from './backup-folder.js'
import type { BackupLine } from './backup-line.js'
import { BackupRun } from './backup-run.js'
import { lockFolder } from './folder-lock.js'

const FOLLOW_MS = 200

interface BackupReport {
  readonly kind: 'full' | 'changes'
  readonly lines: number
  readonly position: number
  readonly file: string
}

export function runBackup(line: BackupLine): Promise<number> {
  const whenStopped = 'Stopped. What was marked before is kept; run the same command to continue from there.'
  return untilStopped({ whenStopped, isJson: line.isJson }, async run => {
    if (line.from === undefined) return verify(line, run)
    await makeFolder(line.folder)
    const lock = await lockFolder(line.folder)
    try {
      await takeBackup(line, line.from, run)
      return 0
    } finally {
      await lock.release()
    }
  })
}

async function takeBackup(line: BackupLine, from: StorePlace, run: LongRun): Promise<void> {
  const state = await openState(from)
  try {
    await new Backups(line, state, run).take()
  } finally {
    await state.close()
  }
}

class Backups {
  readonly #line: BackupLine
  readonly #state: StoreState
  readonly #run: LongRun

  constructor(line: BackupLine, state: StoreState, run: LongRun) {
    this.#line = line
    this.#state = state
    this.#run = run
  }

  async take(): Promise<void> {
    let mark = this.#line.isFull ? undefined : await this.#lastMark()
    // Start again with everything if the log was trimmed before it was read.
    while (!(await this.#takeOne(mark))) mark = undefined
  }

  /** False if the changes after the mark are no longer in the log. */
  async #takeOne(mark: Mark | undefined): Promise<boolean> {
    const { folder, follows } = this.#line
    const number = ((await segmentNumbers(folder)).at(-1) ?? 0) + 1
    const path = segmentPath(folder, number)
    const writer = await LineWriter.create(path)
    let isMarked = false
    try {
      const { signal } = this.#run
      const onProgress = (done: number, at?: string) => this.#run.progress.show({ what: 'backing up', done, at })
      const options = { state: this.#state, writer, signal, onProgress }
      const run = mark === undefined ? await BackupRun.full(options) : await BackupRun.changes(options, mark)
      if (mark === undefined) await run.mark()
      isMarked = (await run.catchUp()) || mark === undefined
      this.#report({
        kind: mark === undefined ? 'full' : 'changes',
        lines: run.lines,
        position: run.position,
        file: path,
      })
      if (follows) {
        await this.#follow(run, () => {
          isMarked = true
        })
      }
      return true
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'LOG_TRIMMED') return false
      throw error
    } finally {
      await writer.close()
      if (!isMarked) await rm(path)
    }
  }

  /** Runs until it is stopped, which is the only way to end it. */
  async #follow(run: BackupRun, onMark: () => void): Promise<void> {
    const { signal } = this.#run
    if (!this.#line.isJson) console.error('Following changes. Press Ctrl-C to stop.')
    for (;;) {
      await delay(FOLLOW_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      this.#state.renew?.()
      if (await run.catchUp()) onMark()
    }
  }

  /** The mark to continue from; undefined: back up everything. */
  async #lastMark(): Promise<Mark | undefined> {
    const { folder } = this.#line
    for (const number of [...(await segmentNumbers(folder))].reverse()) {
      const path = segmentPath(folder, number)
      const segment = await readSegment(path)
      if (segment === undefined) await rm(path)
      else return segment.head.log === this.#state.log ? this.#usable(segment.marks.at(-1)!) : undefined
    }
    return undefined
  }

  /** Undefined if the log is trimmed beyond it, or if the store has lost the marked commit in a power cut. */
  async #usable(mark: Mark): Promise<Mark | undefined> {
    const trimmedTo = await this.#state.trimmedTo()
    if (mark.position < trimmedTo) return undefined
    if (mark.entry <= trimmedTo) return mark
    const [entry] = await this.#state.changes(mark.entry - 1, 1)
    return entry?.position === mark.entry ? mark : undefined
  }

  #report(report: BackupReport): void {
    this.#run.progress.clear()
    if (this.#line.isJson) console.log(JSON.stringify(report))
    else if (report.kind === 'full') console.log(`Full backup of ${report.lines} records in ${report.file}.`)
    else if (report.lines === 0) console.log('Nothing has changed since the last backup.')
    else console.log(`Backed up ${report.lines} changed records in ${report.file}.`)
  }
}

async function verify({ folder, isJson }: BackupLine, { progress, signal }: LongRun): Promise<number> {
  let done = 0
  const { segments, damages } = await readFolder(folder, () => {
    signal.throwIfAborted()
    progress.show({ what: 'verifying', done: ++done })
  })
  progress.clear()
  const [damage] = damages
  if (damage !== undefined) throw damageReport(damage, segments[damage.after - 1]?.marks.at(-1))
  const marks = segments.flatMap(segment => segment.marks)
  const [first, last] = [marks[0], marks.at(-1)]
  if (first === undefined || last === undefined)
    throw new FreshetError('FILE_INVALID', `There is no backup in ${folder}.`)
  const unused = segments.reduce((sum, segment) => sum + segment.unused, 0)
  if (isJson) {
    const files = segments.map(({ path, head, marks }) => ({ path, kind: head.kind, marks: marks.length }))
    console.log(JSON.stringify({ files, first, last, unused }))
    return 0
  }
  console.log(`${segments.length} good files, with ${marks.length} states (marks) from ${first.time} to ${last.time}.`)
  if (unused > 0)
    console.log(`${unused} lines after the last mark of their file are not used: the backup ended while writing them.`)
  return 0
}
