/** The options of `connect` and their defaults. */
import type { ReadMode } from '@freshet/core/coherence'
import { FreshetError } from '@freshet/protocol'
import type { Clock } from './clock/pessimistic-clock.js'
import { createPessimisticClock } from './clock/pessimistic-clock.js'
import type { Authorization } from './http/authorization.js'
import type { Fetch } from './http/transport.js'
import { checkMode } from './reading/read-options.js'
import type { ReadEvent } from './reading/served.js'
import type { RecordOption } from './recording/record-options.js'
import type { OutboxStorage } from './writing/outbox.js'

/** The options of `connect`. All of them are optional. */
export interface ConnectOptions {
  /**
   * After how many milliseconds reads of mode 'session' must see other clients' writes; default 1000. They see own writes at
   * once.
   */
  readonly staleness?: number
  /** `db.session.token` of the session that this one continues. */
  readonly token?: string
  /**
   * For a server with rules: a token (JWT), or a function that gets one and is called again when the server refuses it. A
   * connection belongs to one user: connect again for another. (`token` is something else: it continues a session.)
   */
  readonly authorization?: Authorization
  /** The default mode of reads; default 'session'. */
  readonly read?: ReadMode
  /**
   * How the session learns of changes ahead of reads: 'on-demand', not at all (the default); 'poll', by asking regularly; or
   * 'push', from events.
   */
  readonly refresh?: 'on-demand' | 'poll' | 'push'
  /** The time limit of each operation as a whole, including retries; default 10,000. */
  readonly timeoutMs?: number
  /**
   * How often a temporary failure is retried; default 5. A write whose outcome is unknown is retried until its time is up; with
   * 0 it is not retried either.
   */
  readonly retriesMax?: number
  /**
   * How many bytes of what it has read this process keeps; default 16 MiB, in browsers 0, since they have a cache of their own.
   */
  readonly memoryBytesMax?: number
  /** Called after every read, with its source and its duration. It must not throw. */
  readonly onRead?: (event: ReadEvent) => void
  /**
   * `localStorage` or the like: each write is stored there until it is answered. After a reload, a crash or a time without
   * network, `db.outbox.flush()` sends the remaining writes again; each still takes effect once.
   */
  readonly outbox?: OutboxStorage
  /**
   * Takes lines that record what was read and written, without the values; with them, `freshet check` finds every broken promise.
   */
  readonly record?: RecordOption
  /** Replaces the platform's `fetch`. */
  readonly fetch?: Fetch
  /** A clock in milliseconds that never goes back, and never runs slower than real time. */
  readonly clock?: Clock
  /** A random number from 0 to 1, for the jitter of back-off. */
  readonly random?: () => number
}

type Optional = 'token' | 'authorization' | 'onRead' | 'record' | 'outbox'

export type Settings = Required<Omit<ConnectOptions, Optional>> & Pick<ConnectOptions, Optional>

/** Browsers have a cache in their fetch; Node does not. */
export const HAS_BROWSER_CACHE: boolean =
  (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node === undefined

const REFRESH = ['on-demand', 'poll', 'push']

/** Throws OPTIONS_INVALID. */
export function completeOptions(given: ConnectOptions): Settings {
  const defaults: Omit<Settings, Optional> = {
    staleness: 1_000,
    read: 'session',
    refresh: 'on-demand',
    timeoutMs: 10_000,
    retriesMax: 5,
    memoryBytesMax: HAS_BROWSER_CACHE ? 0 : 16 * 1024 * 1024,
    // Browsers refuse a call of fetch as a method of another object.
    fetch: (url, init) => globalThis.fetch(url, init),
    clock: createPessimisticClock(),
    random: Math.random,
  }
  checkNames(given, [...Object.keys(defaults), 'token', 'authorization', 'onRead', 'record', 'outbox'])
  const settings = { ...defaults, ...withoutUndefined(given) }
  checkNumber('staleness', settings.staleness, 0)
  checkNumber('timeoutMs', settings.timeoutMs, 1)
  checkNumber('retriesMax', settings.retriesMax, 0)
  checkNumber('memoryBytesMax', settings.memoryBytesMax, 0)
  checkMode(settings.read)
  if (!REFRESH.includes(settings.refresh)) throw invalid('refresh', `one of ${REFRESH.join(', ')}`, settings.refresh)
  return settings
}

/** The address without a slash at its end. A relative one is resolved against the page's address. Throws OPTIONS_INVALID. */
export function baseOf(url: string): string {
  const page = (globalThis as { location?: { href: string } }).location?.href
  const parsed = URL.canParse(url, page) ? new URL(url, page) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.search || parsed.hash || parsed.username) {
    throw invalid('The address', 'an http or https URL such as http://localhost:7700', url)
  }
  return parsed.href.replace(/\/$/, '')
}

function withoutUndefined(given: ConnectOptions): ConnectOptions {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function checkNames(given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find(name => !known.includes(name))
  if (unknown === undefined) return
  throw new FreshetError('OPTIONS_INVALID', `connect has no option ${unknown}. Its options are ${known.join(', ')}.`)
}

function checkNumber(name: string, value: number, min: number): void {
  if (typeof value !== 'number' || !(value >= min) || value === Number.POSITIVE_INFINITY) {
    throw invalid(name, `a number of at least ${min}`, value)
  }
}

function invalid(name: string, expected: string, value: unknown): FreshetError {
  return new FreshetError(
    'OPTIONS_INVALID',
    `${name} must be ${expected}, not ${JSON.stringify(value) ?? String(value)}.`,
  )
}
