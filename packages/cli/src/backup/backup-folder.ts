/**
 * A folder of backups: numbered files of lines. The first holds everything there was; each later file holds what has changed
 * since the one before, or everything again. Lines have the format that `transfer/object-lines.ts` draws; of two lines about one
 * key the later one counts. Now and then a mark states: up to here, this is exactly the state of the store at that position.
 *
 *     000001.ndjson   {"freshet":"backup","format":1,"kind":"full","log":"0c9f..."}
 *                     ...
 *                     {"mark":{"position":P,"entry":E,"time":"2026-11-16T15:00:00.000Z","lines":3000,"sha256":"9b1c..."}}
 *     000002.ndjson   {"freshet":"backup","format":1,"kind":"changes","log":"0c9f...","from":P}
 *                     ...
 *
 * `sha256` is the digest of all lines before the mark, `lines` how many of them are data, E the last commit that they include.
 * Lines after the last mark of a file were being written when it ended, and are not used; a file without a mark is not a backup.
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

/** What a folder has that is not damaged. */
export interface BackupFolder {
  /** In order. Segments that follow a damaged one and build on it are left out. */
  readonly segments: readonly Segment[]
  readonly damages: readonly Damage[]
}

export interface Damage {
  readonly error: FreshetError
  /** How many segments come before it. */
  readonly after: number
}

export type SegmentLine = DataLine | { readonly kind: 'mark'; readonly mark: Mark }

const NAME = /^(\d{6})\.ndjson$/

export function segmentPath(folder: string, number: number): string {
  return join(folder, `${`${number}`.padStart(6, '0')}.ndjson`)
}

/** The numbers of its files. Throws FILE_INVALID if it is not a folder of backups. */
export async function segmentNumbers(folder: string): Promise<readonly number[]> {
  const names = (await readdir(folder)).filter(name => !name.startsWith('.') && name !== 'lost+found')
  const foreign = names.find(name => !NAME.test(name))
  if (foreign !== undefined) {
    throw new FreshetError(
      'FILE_INVALID',
      `${folder} contains ${foreign}, so it is not a folder of backups. Choose another.`,
    )
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

/** In a damaged file, the part up to the last mark before the damage is good. */
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

/** The lines of a file that has been read before, up to a mark. */
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
    // The process was killed while writing this line.
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
    if (mark === undefined) throw reader.invalid('it is not a line of a backup')
    if (mark.sha256 !== reader.digest() || mark.lines !== lines) {
      throw reader.invalid('the lines before it have changed since they were written. The backup is damaged')
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
  if (head.freshet !== 'backup') throw reader.invalid('it is not a backup')
  if (head.format === BACKUP_FORMAT) return head
  throw reader.invalid(
    `it has format ${head.format}, and this version of Freshet reads format ${BACKUP_FORMAT}. Update Freshet`,
  )
}

/** Reads and checks a whole folder, in order. Throws FILE_INVALID if it is not a folder of backups. */
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
    `${path} continues from position ${from}, but the file before it does not end there. A file is missing, or was changed.`,
  )
}

/** The damage, and the last good state before it. */
export function damageReport({ error }: Damage, last: Mark | undefined): FreshetError {
  const good =
    last === undefined
      ? 'There is no good state before it.'
      : `The last good state before it is from ${last.time}: restore it with --at ${last.position}.`
  return new FreshetError('FILE_INVALID', `${error.message} ${good} Take a full backup: freshet backup --full.`)
}
