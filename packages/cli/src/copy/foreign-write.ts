/**
 * Checks whether another client has written to the target since the copy did: servers have been started over it, and to continue
 * would undo writes that were acknowledged.
 *
 * The target's log names what was written after the last commit that the copy knows to be its own. Some of that may still be the
 * copy's, if it was killed before it stored the position: then the value is the source's present one, or one from before a
 * change.
 */
import type { Key, Position, Store } from '@freshet/core/store'
import type { StoreState } from '@freshet/engines/lmdb'
import { FreshetError } from '@freshet/protocol'
import { isSame } from './compare-stores.js'

export interface Written {
  readonly from: StoreState
  readonly to: Store
  /** The source's position: the target includes all changes up to here. */
  readonly position: Position
  /** The target's position of the last commit that is known to be the copy's. */
  readonly written: Position
}

const CHANGES = 100

/** Throws STORE_UNUSABLE if another client has written to the target. */
export async function refuseForeignWrites(copied: Written): Promise<void> {
  for (let after = copied.written; ; ) {
    const entries = await unlessTrimmed(copied.to, after)
    if (entries === undefined) throw inUse()
    const last = entries.at(-1)
    if (last === undefined) return
    const foreign = await foreignAmong([...new Set(entries.flatMap(({ keys }) => keys))], copied)
    if (foreign !== undefined) throw inUse(foreign)
    after = last.position
  }
}

async function foreignAmong(keys: readonly Key[], { from, to, position, written }: Written): Promise<Key | undefined> {
  const [{ value: there }, { value: here }] = await Promise.all([from.getMany(keys), to.getMany(keys)])
  const suspected = keys.filter((_, i) => {
    const [source, target] = [there[i], here[i]]
    if (isSame(source, target) || (target !== undefined && target.version <= written)) return false
    return source === undefined || source.version <= position
  })
  if (suspected.length === 0) return undefined
  // Only the log shows when something was deleted.
  const changed = await changedAfter(from, position)
  return suspected.find(key => !changed.has(key))
}

async function changedAfter(from: StoreState, position: Position): Promise<ReadonlySet<Key>> {
  const changed = new Set<Key>()
  for (let after = position; ; ) {
    const entries = (await unlessTrimmed(from, after)) ?? []
    const last = entries.at(-1)
    if (last === undefined) return changed
    for (const key of entries.flatMap(({ keys }) => keys)) changed.add(key)
    after = last.position
  }
}

async function unlessTrimmed(store: Pick<Store, 'changes'>, after: Position) {
  try {
    return await store.changes(after, CHANGES)
  } catch (error) {
    if (error instanceof FreshetError && error.code === 'LOG_TRIMMED') return undefined
    throw error
  }
}

function inUse(key?: Key): FreshetError {
  const such = key === undefined ? '' : `, such as ${key}`
  return new FreshetError(
    'STORE_UNUSABLE',
    `Another client has written to the target since the copy did${such}: continuing would overwrite that. ` +
      'Stop copying into this target, or choose an empty one.',
  )
}
