/**
 * Puts a state of a backup into an empty store, and then reads it back. The store gets a log of its own, with positions beyond
 * those of the backup: sessions notice that the store is a different one, and start over. The access rules are restored as
 * unconfirmed: newer rules may have closed what they open.
 */
import type { Key, Store, Write } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { ACCESS_KEY, restoredRules } from '@freshet/server'
import { type BackupFolder, damageReport, dataLines, type Mark, type Segment } from '../backup/backup-folder.js'
import { isSame } from '../copy/compare-stores.js'
import type { Content, DataLine } from '../transfer/object-lines.js'

/** Files up to a mark; the first is a full backup. */
export interface Chosen {
  readonly segments: readonly Segment[]
  readonly mark: Mark
  /** The next mark, if there is one. */
  readonly next: Mark | undefined
}

export interface RestoreOptions {
  readonly chosen: Chosen
  readonly to: Store
  readonly onProgress: (what: 'restoring' | 'comparing', lines: number) => void
  readonly signal: AbortSignal
}

const BATCH = 200
const BATCH_BYTES = 4 * 1024 * 1024

/**
 * The last state at or before the time or the position, or the latest if neither is given. A state that only seems to be the
 * latest because the rest is damaged is refused. Throws FILE_INVALID.
 */
export function chooseMark(
  { segments, damages }: BackupFolder,
  at: { readonly timeMs: number } | { readonly position: number } | undefined,
): Chosen {
  const all = segments.flatMap((segment, i) => segment.marks.map(mark => ({ mark, i })))
  const isBefore = ({ time, position }: Mark) =>
    at === undefined || ('timeMs' in at ? Date.parse(time) <= at.timeMs : position <= at.position)
  const end = all.findLastIndex(({ mark }) => isBefore(mark))
  const found = all[end]
  const damage = damages.at(-1)
  if (damage !== undefined && (found === undefined || (at === undefined && damage.after > found.i))) {
    throw damageReport(damage, found?.mark)
  }
  if (found === undefined) {
    const first = all[0]?.mark
    throw new FreshetError(
      'FILE_INVALID',
      first === undefined
        ? 'There is no backup in the folder.'
        : `The backup begins at ${first.time}, position ${first.position}. Choose a later state with --at.`,
    )
  }
  const start = segments.slice(0, found.i + 1).findLastIndex(({ head }) => head.kind === 'full')
  if (start === -1)
    throw new FreshetError('FILE_INVALID', 'The full backup, on which this state builds, is missing from the folder.')
  return { segments: segments.slice(start, found.i + 1), mark: found.mark, next: all[end + 1]?.mark }
}

/** Returns how many objects the store has. Throws STORE_DAMAGED if it differs when read back. */
export async function restoreStore(options: RestoreOptions): Promise<number> {
  await putAll(options)
  await compareAll(options)
  return countAll(options)
}

async function* chosenLines({ segments, mark }: Chosen): AsyncGenerator<DataLine> {
  for (const [i, segment] of segments.entries()) {
    const lines = dataLines(segment, i === segments.length - 1 ? mark : segment.marks.at(-1)!)
    for await (const line of lines)
      yield isRules(line) ? { ...line, body: restoredRules(line.body, mark.position) } : line
  }
}

function isRules(line: DataLine): line is Extract<DataLine, { kind: 'object' }> {
  return line.kind === 'object' && `${line.bucket}/${line.id}` === ACCESS_KEY
}

async function putAll({ chosen, to, signal, onProgress }: RestoreOptions): Promise<void> {
  const batch = new Map<Key, Write>()
  let bytes = 0
  let lines = 0
  const flush = async () => {
    signal.throwIfAborted()
    if (batch.size > 0) await to.commit({ writes: [...batch.values()] })
    batch.clear()
    bytes = 0
    onProgress('restoring', lines)
  }
  for await (const line of chosenLines(chosen)) {
    const write = writeOf(line)
    batch.set(write.key, write)
    bytes += 'body' in write ? write.body.length : 0
    lines++
    if (batch.size >= BATCH || bytes >= BATCH_BYTES) await flush()
  }
  await flush()
}

/** The value of each of these keys in a state of the backup, as a write; keys that it lacks are left out. */
export async function lastWrites(chosen: Chosen, keys: ReadonlySet<Key>): Promise<ReadonlyMap<Key, Write>> {
  const found = new Map<Key, Write>()
  for await (const line of chosenLines(chosen)) {
    const write = writeOf(line)
    if (!keys.has(write.key)) continue
    if ('delete' in write) found.delete(write.key)
    else found.set(write.key, write)
  }
  return found
}

function writeOf(line: DataLine): Write {
  const { key, content } = keyAndContent(line)
  if (content === undefined) return { key, delete: true }
  const { contentType, body } = content
  const indexes = line.kind === 'record' ? { indexes: line.indexes ?? [] } : {}
  return { key, contentType, body, ...indexes }
}

function keyAndContent(line: DataLine): { readonly key: Key; readonly content: Content | undefined } {
  if (line.kind === 'record') return { key: line.bucket, content: line.content }
  if (line.kind === 'object') return { key: `${line.bucket}/${line.id}`, content: line }
  if (line.kind === 'delete') return { key: `${line.bucket}/${line.id}`, content: undefined }
  throw new FreshetError('FILE_INVALID', 'The backup has a line that cannot be restored.')
}

/** If the store does not match a line, it must match a later line with the same key. */
async function compareAll({ chosen, to, signal, onProgress }: RestoreOptions): Promise<void> {
  const differing = new Set<Key>()
  let lines = 0
  let part: ReturnType<typeof keyAndContent>[] = []
  const compare = async () => {
    signal.throwIfAborted()
    const { value } = await to.getMany(part.map(({ key }) => key))
    for (const [i, { key, content }] of part.entries()) {
      if (isSame(content, value[i])) differing.delete(key)
      else differing.add(key)
    }
    part = []
    onProgress('comparing', lines)
  }
  for await (const line of chosenLines(chosen)) {
    lines++
    part.push(keyAndContent(line))
    if (part.length === BATCH) await compare()
  }
  await compare()
  const [key] = differing
  if (key === undefined) return
  throw new FreshetError(
    'STORE_DAMAGED',
    `${differing.size} keys differ from the backup, such as ${key}. Check whether another program writes to the store.`,
  )
}

async function countAll({ to }: RestoreOptions): Promise<number> {
  let objects = 0
  for (const { bucket } of await to.buckets()) {
    for (let after: string | undefined, isEnd = false; !isEnd; ) {
      const page = await to.scan(bucket, { limit: BATCH, ...(after === undefined ? {} : { after }) })
      if (!bucket.startsWith('_')) objects += page.entries.length
      after = page.next
      isEnd = after === undefined
    }
  }
  return objects
}
