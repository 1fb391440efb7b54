/**
 * A folder of backups: files of lines, numbered. The first holds all there was, those after it what has changed since the one before;
 * another full one may follow. Lines are as `transfer/object-lines.ts` draws them, a later one about the same key counts, and now
 * and then a mark says: up to here, this is exactly the state of the store at that position.
 *
 *     000001.ndjson   {"freshet":"backup","format":1,"kind":"full","log":"0c9f..."}
 *                     ...
 *                     {"mark":{"position":P,"entry":E,"time":"2026-11-16T15:00:00.000Z","lines":3000,"sha256":"9b1c..."}}
 *     000002.ndjson   {"freshet":"backup","format":1,"kind":"changes","log":"0c9f...","from":P}
 *                     ...
 *
 * `sha256` is of all lines before the mark, `lines` how many of them are data, E the last commit that is in it. What follows the last
 * mark of a file was being written when it ended, and is not used; a file without a mark is none.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { FreshetError, type Position } from '@freshet/protocol'
import { LineReader } from '../transfer/line-reader.js'
import { type DataLine, readLine, reasonOf } from '../transfer/object-lines.js'

export const BACKUP_FORMAT = 1

export interface Head {
  readonly freshet: 'backup'
  readonly format: number
  readonly kind: 'full' | 'changes'
  readonly log: string
  readonly from?: Position
}

export interface Mark {
  readonly position: Position
  readonly entry: Position
  readonly time: string
  readonly lines: number
  readonly sha256: string
}

export interface Segment {
  readonly path: string
  readonly head: Head
  /** In order; at least one. */
  readonly marks: readonly Mark[]
  /** Lines after the last mark. */
  readonly unused: number
}

/** All that a folder has, as far as it is good. */
export interface BackupFolder {
  /** In order. Those that follow a damaged one and go on from it are left out. */
  readonly segments: readonly Segment[]
  readonly damages: readonly Damage[]
}

export interface Damage {
  readonly error: FreshetError
  /** So many of the segments are before it. */
  readonly after: number
}

export type SegmentLine = DataLine | { readonly kind: 'mark'; readonly mark: Mark }

const NAME = /^(\d{6})\.ndjson$/

export function segmentPath(folder: string, number: number): string {
  return join(folder, `${`${number}`.padStart(6, '0')}.ndjson`)
}

/** The numbers of its files. Throws FILE_INVALID if it is some other folder. */
export async function segmentNumbers(folder: string): Promise<readonly number[]> {
  const names = (await readdir(folder)).filter(name => !name.startsWith('.') && name !== 'lost+found')
  const foreign = names.find(name => !NAME.test(name))
  if (foreign !== undefined) {
    throw new FreshetError('FILE_INVALID', `${folder} holds ${foreign}, so it is no folder of backups. Choose another.`)
  }
  return names.map(name => Number(NAME.exec(name)![1])).sort((a, b) => a - b)
}

interface SegmentRead {
  /** Undefined if it has no mark. */
  readonly segment: Segment | undefined
  readonly damage: FreshetError | undefined
}

/** Reads and checks a file: every line, the digest and count of every mark. Undefined if it has no mark. Throws FILE_INVALID. */
export async function readSegment(path: string): Promise<Segment | undefined> {
  const { segment, damage } = await readGoodPart(path, () => undefined)
  if (damage !== undefined) throw damage
  return segment
}

/** Of a file that is damaged, what its marks before that have is good. */
async function readGoodPart(path: string, onLine: () => void): Promise<SegmentRead> {
  const marks: Mark[] = []
  let head: Head | undefined
  let unused = 0
  let damage: FreshetError | undefined
  try {
    for await (const { line, isHead } of linesOf(path)) {
      onLine()
      if (isHead) head = line as unknown as Head
      else if ((line as SegmentLine).kind === 'mark') {
        marks.push((line as Extract<SegmentLine, { kind: 'mark' }>).mark)
        unused = 0
      } else unused++
    }
  } catch (error) {
    if (!(error instanceof FreshetError) || error.code !== 'FILE_INVALID') throw error
    damage = error
  }
  const segment = head === undefined || marks.length === 0 ? undefined : { path, head, marks, unused }
  return { segment, damage }
}

/** The lines of a file that was read before, up to a mark. */
export async function* dataLines({ path }: Segment, upTo: Mark): AsyncGenerator<DataLine> {
  for await (const { line, isHead } of linesOf(path)) {
    if (isHead) continue
    const each = line as SegmentLine
    if (each.kind !== 'mark') yield each
    else if (each.mark.sha256 === upTo.sha256) return
  }
}

async function* linesOf(path: string): AsyncGenerator<{ line: SegmentLine | Head; isHead: boolean }> {
  const reader = new LineReader(path)
  let lines = 0
  for await (const text of reader.lines()) {
    // The process was killed here.
    if (!reader.isWhole) return
    const line = readChecked(reader, text)
    if (reader.number === 1) {
      yield { line: headOf(reader, line), isHead: true }
      continue
    }
    if (line.kind !== 'other') {
      lines++
      yield { line, isHead: false }
      continue
    }
    const mark = line.value.mark as Mark | undefined
    if (mark === undefined) throw reader.invalid('it is no line of a backup')
    if (mark.sha256 !== reader.digest() || mark.lines !== lines) {
      throw reader.invalid('the lines before it are not those that were written. The backup is damaged')
    }
    yield { line: { kind: 'mark', mark }, isHead: false }
  }
}

function readChecked(reader: LineReader, text: string): DataLine {
  try {
    return readLine(text)
  } catch (error) {
    throw reader.invalid(`${reasonOf(error)}. The backup is damaged`)
  }
}

function headOf(reader: LineReader, line: DataLine): Head {
  const head = (line.kind === 'other' ? line.value : {}) as unknown as Head
  if (head.freshet !== 'backup') throw reader.invalid('it is no backup')
  if (head.format === BACKUP_FORMAT) return head
  throw reader.invalid(`it has format ${head.format}, and this Freshet reads ${BACKUP_FORMAT}. Update Freshet`)
}

/** All of a folder, in order, each checked. Throws FILE_INVALID if it is some other folder. */
export async function readFolder(folder: string, onLine: () => void = () => undefined): Promise<BackupFolder> {
  const segments: Segment[] = []
  const damages: Damage[] = []
  let isBroken = false
  for (const number of await segmentNumbers(folder)) {
    const { segment, damage } = await readGoodPart(segmentPath(folder, number), onLine)
    if (segment?.head.kind === 'full') isBroken = false
    const gap = segment !== undefined && !isBroken ? gapBefore(segment, segments.at(-1)) : undefined
    if (segment !== undefined && !isBroken && gap === undefined) segments.push(segment)
    for (const error of [gap, damage]) {
      if (error === undefined) continue
      damages.push({ error, after: segments.length })
      isBroken = true
    }
  }
  return { segments, damages }
}

function gapBefore(
  { head: { kind, log, from }, path }: Segment,
  before: Segment | undefined,
): FreshetError | undefined {
  if (kind === 'full' || (before?.head.log === log && before.marks.at(-1)!.position === from)) return undefined
  return new FreshetError(
    'FILE_INVALID',
    `${path} goes on from position ${from}, which is not where the file before it ends. One is missing, or was changed.`,
  )
}

/** The damage, and what is good nevertheless. */
export function damageTold({ error }: Damage, last: Mark | undefined): FreshetError {
  const good =
    last === undefined
      ? 'No state before it is good.'
      : `The last good state before it is of ${last.time}: restore it with --at ${last.position}.`
  return new FreshetError('FILE_INVALID', `${error.message} ${good} Take all of it anew: freshet backup --full.`)
}
