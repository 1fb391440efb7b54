/** What can be said to `connect`, and what it means to say nothing. */
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

/** What can be said to `connect`. All of it may be left out. */
export interface ConnectOptions {
  /** How many milliseconds others' writes may take to be seen by reads of mode 'session'; default 1000. Own writes take none. */
  readonly staleness?: number
  /** `db.session.token` of the session that this one continues. */
  readonly token?: string
  /**
   * Who asks, where the server has rules: a token (JWT), or a function that gets one, and is called again when it is refused. One
   * connection is one person's: connect again for another. (`token` is another thing: where a session goes on.)
   */
  readonly authorization?: Authorization
  /** How reads are done that do not say otherwise; default 'session'. */
  readonly read?: ReadMode
  /** How the session learns of changes ahead of reads: not at all, the default, by asking regularly, or by being told. */
  readonly refresh?: 'on-demand' | 'poll' | 'push'
  /** For each operation as a whole, with everything it may need; default 10,000. */
  readonly timeoutMs?: number
  /**
   * How often something that failed in passing is tried again; default 5. A write of which nobody knows whether it was done is tried
   * until its time is up; with 0 it is not tried again either.
   */
  readonly retriesMax?: number
  /** How much this process keeps of what it has read: 16 MiB, in browsers 0, nothing, since they have a cache of their own. */
  readonly memoryBytesMax?: number
  /** Called after every read: where it was answered, and how fast. It must not throw. */
  readonly onRead?: (event: ReadEvent) => void
  /**
   * `localStorage`, or what is like it: each write is noted there until it is answered, and what is left of them after a
   * reload, a crash or a time without network can be sent again: `db.outbox.flush()`. It takes effect once all the same.
   */
  readonly outbox?: OutboxStorage
  /** Takes lines that tell what was read and written, without the values: `freshet check` finds every broken promise. */
  readonly record?: RecordOption
  /** Instead of the platform's. */
  readonly fetch?: Fetch
  /** Milliseconds that never go back, and never slower than real time. */
  readonly clock?: Clock
  /** From 0 to 1, for the jitter of back-off. */
  readonly random?: () => number
}

type Optional = 'token' | 'authorization' | 'onRead' | 'record' | 'outbox'

export type Settings = Required<Omit<ConnectOptions, Optional>> & Pick<ConnectOptions, Optional>

/** Node has no cache in its fetch; browsers do. */
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
    // Browsers want their fetch called as a function of theirs, not as a method of something else.
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

/** The address without a slash at its end. Relative ones are taken from the page's. Throws OPTIONS_INVALID. */
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
  throw new FreshetError('OPTIONS_INVALID', `connect has no option ${unknown}. It has ${known.join(', ')}.`)
}

function checkNumber(name: string, value: number, min: number): void {
  if (typeof value !== 'number' || !(value >= min) || value === Number.POSITIVE_INFINITY) {
    throw invalid(name, `a number, at least ${min}`, value)
  }
}

function invalid(name: string, expected: string, value: unknown): FreshetError {
  return new FreshetError(
    'OPTIONS_INVALID',
    `${name} must be ${expected}, not ${JSON.stringify(value) ?? String(value)}.`,
  )
}
