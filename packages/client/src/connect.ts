/** Creates the parts of a connection and fetches the first head. */

import { ServerClock } from '@freshet/core/clock'
import { Session } from '@freshet/core/coherence'
import { FreshetError } from '@freshet/protocol'
import type { AnyBuckets, BucketTypes } from './buckets/bucket-types.js'
import { baseOf, type ConnectOptions, completeOptions, HAS_BROWSER_CACHE, type Settings } from './connect-options.js'
import { Database } from './database.js'
import type { AuthorizedFetch } from './http/authorization.js'
import { Transport } from './http/transport.js'
import { OperationIds } from './operations/operation-ids.js'
import { MemoryCache } from './reading/memory-cache.js'
import { Reader } from './reading/reader.js'
import type { SessionRecorder, SessionRecorderOptions } from './recording/session-recorder.js'
import type { BackgroundOptions } from './session/background-refresh.js'
import { createDatabaseSession } from './session/database-session.js'
import { Refresher } from './session/refresher.js'
import type { Outbox } from './writing/outbox.js'
import { Writer } from './writing/writer.js'

/**
 * Connects to a Freshet server. Throws OPTIONS_INVALID, TOKEN_INVALID, and REQUEST_FAILED, REQUEST_TIMEOUT or
 * ANSWER_INVALID if there is no such server. `Buckets` declares what is in each bucket (see `BucketTypes`); `freshet gen` writes
 * it. Then the compiler knows the types of values, and refuses names of buckets that do not exist.
 *
 * @example
 * import { connect } from '@freshet/client'
 *
 * interface Buckets {
 *   'shop/products': { name: string; price: number }
 *   'shop/views': number // counters
 * }
 *
 * const db = await connect<Buckets>('http://localhost:7700', { staleness: 500 })
 * const tea = await db.bucket('shop/products').get('tea')
 * console.log(tea?.name, tea?.price) // Tea 4
 * db.close()
 */
export async function connect<Buckets extends BucketTypes<Buckets> = AnyBuckets>(
  url: string,
  options: ConnectOptions = {},
): Promise<Database<Buckets>> {
  const settings = completeOptions(options)
  const { clock, timeoutMs, read, retriesMax, random, memoryBytesMax, staleness, token } = settings
  const controller = new AbortController()
  const closed = controller.signal
  const base = baseOf(url)
  const authorized = await authorize(settings, base)
  const transport = new Transport(authorized?.fetch ?? settings.fetch, base)
  const memory = memoryBytesMax > 0 ? new MemoryCache(memoryBytesMax) : undefined
  const serverClock = new ServerClock()
  const policy = { retriesMax, random }
  const session = new Session({ stalenessMs: staleness, ...(token === undefined ? {} : { token }) })
  const shared = { session, transport, clock, serverClock, policy, timeoutMs, closed }
  const refresher = new Refresher({
    ...shared,
    onAnotherLog: () => memory?.clear(),
    onOpenBuckets: open => authorized?.learn(open),
  })
  const recorder = await createRecorder(settings, { session, transport, closed })
  const outbox = await openOutbox(settings, transport.base, closed)
  const ids = new OperationIds(clock, serverClock)
  const writer = new Writer({ ...shared, refresher, memory, recorder, ids, outbox })
  const { onRead } = settings
  const reader = new Reader({
    ...shared,
    refresher,
    memory,
    read,
    onRead,
    recorder,
    hasBrowserCache: HAS_BROWSER_CACHE,
  })
  await refresher.refresh(closed)
  await recorder?.start()
  if (settings.refresh !== 'on-demand') await refreshAhead(settings.refresh, { ...shared, refresher, reader })
  const parts = { ...shared, reader, writer, outbox }
  const shown = createDatabaseSession({ ...shared, refresher, read, recorder })
  return new Database(parts, shown, () => controller.abort(closedByCaller()))
}

/** Loaded only with the option. */
async function authorize({ fetch, authorization }: Settings, base: string): Promise<AuthorizedFetch | undefined> {
  if (authorization === undefined) return undefined
  return new (await import('./http/authorization.js')).AuthorizedFetch(fetch, authorization, base)
}

/** Loaded only with the option. */
async function refreshAhead(
  refresh: 'poll' | 'push',
  { reader, ...parts }: Omit<BackgroundOptions, 'lastReadMs' | 'readAhead'> & { readonly reader: Reader },
): Promise<void> {
  const { BackgroundRefresh } = await import('./session/background-refresh.js')
  const readAhead: Reader['readAhead'] = changedAt => reader.readAhead(changedAt)
  void new BackgroundRefresh({ ...parts, lastReadMs: () => reader.lastReadMs, readAhead })[refresh]()
}

/** Loaded only with the option. */
async function openOutbox({ outbox }: Settings, base: string, closed: AbortSignal): Promise<Outbox | undefined> {
  return outbox && new (await import('./writing/outbox.js')).Outbox(outbox, base, closed)
}

/** Loaded only with the option: most programs never record, and should not carry the code for it. */
async function createRecorder(
  { record, token }: Settings,
  parts: Pick<SessionRecorderOptions, 'session' | 'transport' | 'closed'>,
): Promise<SessionRecorder | undefined> {
  if (record === undefined) return undefined
  const { SessionRecorder } = await import('./recording/session-recorder.js')
  const { createRecordId, processClock } = await import('./recording/record-clock.js')
  const { completeRecord } = await import('./recording/record-options.js')
  return new SessionRecorder({
    ...parts,
    record: completeRecord(record),
    token,
    clock: processClock(),
    id: createRecordId(),
  })
}

function closedByCaller(): FreshetError {
  return new FreshetError('REQUEST_FAILED', 'The connection was closed by db.close(). Connect again to continue.', {
    details: { closed: true, outcome: 'unknown' },
  })
}
