/**
 * All settings of a server, with their defaults. Servers over the same data must have the same settings, since each of them is
 * responsible for copies that the others handed out.
 */
export interface ServerSettings {
  /** How long caches may keep an object, unless its bucket sets another lifetime. */
  readonly lifetimeMs: number
  /** The longest lifetime that a bucket may have. The sketch remembers changes for at least that long. */
  readonly lifetimeMsMax: number
  /** A response that takes longer to send is cut: the window depends on that. */
  readonly responseMsMax: number
  /** Added to the window, for caches that serve a little past expiry. */
  readonly slackMs: number
  /** How long the open tail of the sketch grows before it becomes a segment. */
  readonly slotMs: number
  /** For the sketch's filters. A false positive costs a reader one more fetch. */
  readonly falsePositiveRateMax: number
  /**
   * Whether this server may be the keeper: of all servers over the same data, the one that trims the log and does other work
   * that must be done only once.
   */
  readonly mayKeep: boolean
  readonly trimIntervalMs: number

  /** How long `?at=` waits for a position that has not been reached yet, and how many requests may wait at once. */
  readonly positionWaitMsMax: number
  readonly positionWaitersMax: number

  readonly eventClientsMax: number
  /** How much data may wait for one slow client of /coherence/events before it is disconnected. */
  readonly eventBufferBytesMax: number
  /** How often readers of events get a heartbeat if nothing changes. Must be shorter than the staleness that readers allow. */
  readonly heartbeatMs: number
  /** For how long changes are gathered before they are pushed together. */
  readonly eventIntervalMs: number

  readonly bodyBytesMax: number
  /** For `POST /commit`. Each value in it is still limited by `bodyBytesMax`. */
  readonly commitBodyBytesMax: number
  /** For all bodies of unanswered requests together. An address may hold as much as is still free. */
  readonly receivedBytesMax: number
  /** A body that arrives more slowly than this for some seconds is refused. */
  readonly bodyBytesPerSMin: number
  readonly jsonDepthMax: number
  /** Members of objects and elements of arrays, added up, in one body. */
  readonly jsonMembersMax: number
  /** For new ids. At most 512, the limit of the protocol. */
  readonly idBytesMax: number
  readonly commitWritesMax: number
  readonly commitReadsMax: number
  /** The longest lease of objects that a refused commit can get; 0 for no leases. */
  readonly leaseMsMax: number
  readonly listLimitMax: number
  /** How many counters of a bucket are added up, or searched for the largest. */
  readonly countersMax: number
  /** A page of a list that would be longer is cut, and the next page continues from there. */
  readonly listBytesMax: number
  readonly bucketsMax: number
  /** How many Idempotency-Keys are remembered for a namespace, if there are rules. The ids of our clients do not count. */
  readonly keysPerNamespaceMax: number
  readonly urlBytesMax: number
  readonly headerBytesMax: number
  /** A request that takes longer to arrive is refused. */
  readonly requestMsMax: number
  readonly keepAliveMs: number

  /** Bodies of at least this size are compressed for clients that accept that. */
  readonly compressBytesMin: number
  readonly compressedCacheBytesMax: number
  /** Memory for objects that are read often; 0 for none. */
  readonly hotCacheBytesMax: number
  /** The longest that a query over shards may take, with all its rounds. */
  readonly sqlMsMax: number
  /** How many rows or groups of all shards together may be combined into one result. */
  readonly sqlRowsMax: number
  /** How many bytes of all shards together may be received for one result. */
  readonly sqlBytesMax: number
  /** Memory for results of queries over shards; 0 for none. */
  readonly sqlCacheBytesMax: number
  /**
   * How long the rows of a query may take to be streamed, including the time that the reader takes. Snapshots may be held that
   * long.
   */
  readonly sqlStreamMsMax: number
  /** How many queries may be streamed at once. */
  readonly sqlStreamsMax: number
  /** The longest that one shard may take for one global write. */
  readonly globalMsMax: number
  /** How long `POST /global` waits for all shards before it names those that have not finished. */
  readonly globalWaitMsMax: number
  /** How often the server checks whether a shard is behind. */
  readonly globalIntervalMs: number
  /**
   * Which web pages may use the server: all of them, or those of these origins, such as https://shop.example. `auto`: all if
   * there are rules; otherwise those of the same machine, and others are refused (`http/local-door.ts`).
   */
  readonly corsOrigins: 'auto' | '*' | readonly string[]
}

const SECOND = 1000
const KIB = 1024
const MIB = 1024 * KIB

export const DEFAULT_SETTINGS: ServerSettings = {
  lifetimeMs: 60 * SECOND,
  lifetimeMsMax: 24 * 3600 * SECOND,
  responseMsMax: 30 * SECOND,
  slackMs: 15 * SECOND,
  slotMs: SECOND,
  falsePositiveRateMax: 0.001,
  mayKeep: true,
  trimIntervalMs: 10 * SECOND,
  positionWaitMsMax: SECOND,
  positionWaitersMax: 1000,
  eventClientsMax: 10_000,
  eventBufferBytesMax: 256 * KIB,
  heartbeatMs: SECOND / 2,
  eventIntervalMs: 120,
  bodyBytesMax: MIB,
  commitBodyBytesMax: 8 * MIB,
  receivedBytesMax: 128 * MIB,
  bodyBytesPerSMin: KIB / 2,
  jsonDepthMax: 64,
  jsonMembersMax: 200_000,
  idBytesMax: 512,
  commitWritesMax: 1000,
  commitReadsMax: 10_000,
  leaseMsMax: SECOND,
  listLimitMax: 1000,
  countersMax: 100_000,
  listBytesMax: 4 * MIB,
  bucketsMax: 10_000,
  keysPerNamespaceMax: 5_000_000,
  urlBytesMax: 8 * KIB,
  headerBytesMax: 16 * KIB,
  requestMsMax: 30 * SECOND,
  keepAliveMs: 65 * SECOND,
  compressBytesMin: KIB,
  compressedCacheBytesMax: 16 * MIB,
  hotCacheBytesMax: 32 * MIB,
  sqlMsMax: 10 * SECOND,
  sqlRowsMax: 100_000,
  sqlBytesMax: 64 * 1024 * 1024,
  sqlCacheBytesMax: 32 * MIB,
  sqlStreamMsMax: 120 * SECOND,
  sqlStreamsMax: 8,
  globalMsMax: 300 * SECOND,
  globalWaitMsMax: 10 * SECOND,
  globalIntervalMs: 250,
  corsOrigins: 'auto',
}

const MAY_BE_ZERO = new Set([
  'lifetimeMs',
  'slackMs',
  'positionWaitMsMax',
  'leaseMsMax',
  'compressedCacheBytesMax',
  'hotCacheBytesMax',
  'sqlCacheBytesMax',
  'eventIntervalMs',
  'bodyBytesPerSMin',
])

/** Fills in the defaults. Throws a TypeError that names the setting and its allowed values. */
export function completeSettings(given: Partial<ServerSettings>): ServerSettings {
  for (const [name, value] of Object.entries(given)) checkSetting(name as keyof ServerSettings, value)
  const settings = { ...DEFAULT_SETTINGS, ...given }
  if (settings.lifetimeMs > settings.lifetimeMsMax) {
    throw new TypeError(
      `lifetimeMs (${settings.lifetimeMs}) must not be more than lifetimeMsMax (${settings.lifetimeMsMax}).`,
    )
  }
  return settings
}

function checkSetting(name: keyof ServerSettings, value: unknown): void {
  if (!(name in DEFAULT_SETTINGS)) {
    throw new TypeError(`There is no setting ${name}. The settings are: ${Object.keys(DEFAULT_SETTINGS).join(', ')}.`)
  }
  const objection = objectionTo(name, value)
  if (objection) throw new TypeError(`The setting ${name} must be ${objection}, not ${JSON.stringify(value)}.`)
}

function objectionTo(name: keyof ServerSettings, value: unknown): string | undefined {
  if (name === 'mayKeep') return typeof value === 'boolean' ? undefined : 'true or false'
  if (name === 'corsOrigins') {
    const isOne = value === 'auto' || value === '*' || isOrigins(value)
    return isOne ? undefined : '"auto", "*" or a list of origins such as "https://shop.example"'
  }
  if (name === 'falsePositiveRateMax') {
    return typeof value === 'number' && value > 0 && value < 1 ? undefined : 'between 0 and 1'
  }
  const least = MAY_BE_ZERO.has(name) ? 0 : 1
  return Number.isSafeInteger(value) && (value as number) >= least ? undefined : `a whole number, at least ${least}`
}

function isOrigins(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(origin => /^[a-z][a-z0-9+.-]*:\/\/[^/\s,]+$/.test(String(origin)))
}
