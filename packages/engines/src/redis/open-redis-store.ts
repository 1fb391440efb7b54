/** Opens a store in Redis: its options, and the connections that it needs before it has an engine (`redis-engine.ts`). */
import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import type { LogPlace } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import { SharedClock } from '@freshet/store/clock'
import { CommitListeners } from '@freshet/store/engine'
import { parseAddress } from './address.js'
import { Addresses } from './addresses.js'
import { layoutOf } from './layout.js'
import { RedisEngine } from './redis-engine.js'
import { RedisSession } from './redis-session.js'

export interface RedisStoreOptions {
  /**
   * `redis://user:password@host:6379/0`, `redis://a:6379,b:6379`, `redis://a,b?sentinel=NAME`: see `address.ts`. Or several of
   * these.
   */
  readonly url: string | readonly string[]
  /** The name of the store, as one Redis may hold several; `main` unless given. */
  readonly name?: string
  /** How long operations are remembered; a day unless given. The same for all servers of the store. */
  readonly retentionMs?: number
  /** If Redis is silent for longer, the server connects again; 5 seconds unless given. */
  readonly answerMsMax?: number
  /** How long a call waits for a Redis that cannot be reached; 5 seconds unless given. */
  readonly patienceMs?: number
  /** A query that would have to read more entries is refused; 10,000 unless given. */
  readonly scanMax?: number
  /** The log and position that an earlier process knew. If Redis no longer has them, the store begins another log. */
  readonly recalled?: LogPlace | undefined
  /** Called once for each setting of Redis that could lose acknowledged writes. */
  readonly onWarning?: (warning: string) => void
}

/**
 * Creates the store if it does not exist. Throws STORE_UNAVAILABLE if no Redis answers, STORE_UNUSABLE if Redis would lose data
 * by itself, is too old or refuses access.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<EngineStore<RedisEngine>> {
  const { url, name = 'main', retentionMs = RETENTION_MS_DEFAULT, answerMsMax = 5_000, patienceMs = 5_000 } = options
  const address = parseAddress(url)
  const layout = layoutOf(name)
  const clock = new SharedClock()
  const listeners = new CommitListeners()
  const opened: { engine?: RedisEngine } = {}
  const session = await RedisSession.open({
    addresses: new Addresses(address),
    layout,
    clock,
    answerMsMax,
    patienceMs,
    recalled: options.recalled,
    onWarning: warning => options.onWarning?.(warning),
    onPosition: position => {
      opened.engine?.tell(position)
      listeners.notifySoon(position)
    },
    onLog: log => opened.engine?.attach(log),
  })
  const { replicas } = address
  const { scanMax = SCAN_MAX_DEFAULT } = options
  const onWarning = (warning: string) => options.onWarning?.(warning)
  const engine = new RedisEngine({ session, layout, clock, listeners, retentionMs, replicas, onWarning })
  opened.engine = engine
  return new EngineStore({ engine, scanMax })
}
