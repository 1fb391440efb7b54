/**
 * `freshet restore`: checks the backup, chooses a state, puts it into an empty store and compares. A folder is created under
 * another name and renamed at the end, so it exists completely or not at all. An engine stores what is being restored into it,
 * so that the same command can be run again.
 */
import { rename, rm, rmdir } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { dirname, resolve } from 'node:path'
import { positionAtTime, type Store, type Write } from '@freshet/core/store'
import { makeFolder, openEmbeddedStore } from '@freshet/engines/lmdb'
import { FreshetError } from '@freshet/protocol'
import { ACCESS_KEY, auditWrite, recallRules, restoredRules } from '@freshet/server'
import { readFolder } from '../backup/backup-folder.js'
import { isEngine, withoutPassword } from '../config/store-kind.js'
import { openNamedStore } from '../places/open-store.js'
import { type LongRun, untilStopped } from '../terminal/until-stopped.js'
import { JSON_TYPE } from '../transfer/object-lines.js'
import { notEmpty, refuseFilled } from './empty-folder.js'
import { restoreKeys } from './restore-keys.js'
import type { RestoreLine } from './restore-line.js'
import { type Chosen, chooseMark, restoreStore } from './restore-store.js'

const MEMORY = 'restore'

export function runRestore(line: RestoreLine): Promise<number> {
  return untilStopped({ whenStopped: 'Stopped. The same command starts over.', isJson: line.isJson }, async run => {
    let read = 0
    const folder = await readFolder(line.folder, () => {
      run.signal.throwIfAborted()
      run.progress.show({ what: 'verifying', done: ++read })
    })
    const chosen = chooseMark(folder, line.at)
    run.progress.clear()
    for (const { error } of folder.damages) console.error(`Damage outside the restored state: ${error.message}`)
    const { store } = line.to
    if (line.only !== undefined) return restoreOnly(line, chosen)
    const restored = isEngine(store) ? await intoEngine(store, chosen, run) : await intoFolder(store, chosen, run)
    run.progress.clear()
    tell(line, chosen, restored)
    return 0
  })
}

async function restoreOnly({ to, only, isJson }: RestoreLine, chosen: Chosen): Promise<number> {
  const embedded = isEngine(to.store) ? undefined : await openEmbeddedStore({ path: to.store })
  const store = embedded ?? (await openNamedStore(to.store, warning => console.error(warning)))
  try {
    const keys = typeof only === 'object' ? [only.key] : embedded?.engine.damagedKeys
    if (keys === undefined) {
      throw new FreshetError(
        'CONFIG_INVALID',
        '--damaged works on the folder of an embedded store only. Name a key with --key.',
      )
    }
    const restored = await restoreKeys(store, chosen, keys)
    await noteRestore(store, chosen, { keys })
    const { time, position } = chosen.mark
    if (isJson) console.log(JSON.stringify({ restored, keys, time, position, log: store.log }))
    else
      console.log(
        `${restored} ${restored === 1 ? 'key' : 'keys'} restored to ${withoutPassword(to.store)}, as of ${time}.`,
      )
    return 0
  } finally {
    await store.close()
  }
}

interface Restored {
  readonly objects: number
  readonly hasRules: boolean
  readonly log: string
}

async function restore(to: Store, chosen: Chosen, { signal, progress }: LongRun): Promise<Restored> {
  const onProgress = (what: string, done: number) => progress.show({ what, done })
  const objects = await restoreStore({ chosen, to, signal, onProgress })
  const { version, text } = await recallRules(to)
  // An absence of rules must be confirmed as well.
  const body = restoredRules(undefined, chosen.mark.position)
  await noteRestore(to, chosen, { objects }, version === 0 ? [{ key: ACCESS_KEY, contentType: JSON_TYPE, body }] : [])
  return { objects, hasRules: text !== null, log: to.log }
}

/** Records the restore in the audit log of the target. */
async function noteRestore(
  store: Store,
  { mark: { time, position } }: Chosen,
  what: object,
  more: readonly Write[] = [],
): Promise<void> {
  const who = `${userInfo().username} (with the store at hand)`
  const after = { backupTime: time, backupPosition: position, ...what }
  const audit = auditWrite({ who, from: hostname(), what: 'restore', before: null, after })
  await store.commit({ writes: [...more, audit] })
}

async function intoFolder(path: string, chosen: Chosen, run: LongRun): Promise<Restored> {
  await refuseFilled(path)
  const making = `${resolve(path)}.restoring`
  await rm(making, { recursive: true, force: true })
  await makeFolder(dirname(making))
  const positionsAfter = Math.max(positionAtTime(Date.now()), chosen.mark.position)
  let store: Store | undefined
  try {
    store = await openEmbeddedStore({ path: making, positionsAfter })
    const restored = await restore(store, chosen, run)
    await store.close()
    await rmdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    await rename(making, path)
    return restored
  } catch (error) {
    await store?.close()
    await rm(making, { recursive: true, force: true })
    throw error
  }
}

async function intoEngine(url: string, chosen: Chosen, run: LongRun): Promise<Restored> {
  const store = await openNamedStore(url, warning => console.error(warning))
  try {
    const what = Buffer.from(chosen.mark.sha256)
    const before = await store.recall(MEMORY)
    const isOurs = before !== undefined && Buffer.compare(before, what) === 0
    if (!isOurs && (await store.buckets()).length > 0) throw notEmpty(withoutPassword(url))
    await store.remember(MEMORY, what)
    const restored = await restore(store, chosen, run)
    await store.remember(MEMORY, Buffer.from('done'))
    return restored
  } finally {
    await store.close()
  }
}

function tell({ to, isJson }: RestoreLine, { mark, next }: Chosen, { objects, hasRules, log }: Restored): void {
  const { time, position } = mark
  if (isJson) {
    console.log(
      JSON.stringify({
        objects,
        hasRules,
        time,
        position,
        log,
        ...(next === undefined ? {} : { nextTime: next.time }),
      }),
    )
    return
  }
  const later =
    next === undefined
      ? 'This is the latest state in the backup.'
      : `The next state in the backup is from ${next.time}.`
  console.log(
    `${objects} objects restored to ${withoutPassword(to.store)} and compared, as of ${time} (position ${position}). ${later}`,
  )
  if (hasRules) {
    const place = `--${isEngine(to.store) ? 'store' : 'data'} ${withoutPassword(to.store)}`
    console.log(
      'The access rules are those of the backup, and may be older than the rules last in force. Unless a server knows newer ones, no server starts ' +
        `until you confirm them: freshet rules show ${place}, then freshet rules confirm ${place}.`,
    )
  }
}
