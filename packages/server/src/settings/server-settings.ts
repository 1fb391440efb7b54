/**
 * Everything about a server that can be set, with its default. Servers over the same data must have the same settings:
 * each of them answers for copies that the others handed out.
 */
export interface ServerSettings {
  /** How long caches may keep an object, where its bucket does not say otherwise. */
  readonly lifetimeMs: number
  /** The longest lifetime that a bucket may ask for. The sketch remembers changes for at least as long. */
  readonly lifetimeMsMax: number
  /** A response that has not left by then is cut: the window counts on it. */
  readonly responseMsMax: number
  /** Added to the window, for caches that serve a little past expiry. */
  readonly slackMs: number
  /** How long the open tail of the sketch grows before it becomes a segment. */
  readonly slotMs: number
  /** Of the sketch's filters; a false positive costs a reader one more fetch. */
  readonly falsePositiveRateMax: number
  /** Whether this server may be the keeper: the one of all those over the same data that trims the log, and does other work that is to be done once. */
  readonly mayKeep: boolean
  readonly trimIntervalMs: number

  /** How long `?at=` waits for a position that is not reached yet, and how many may wait at once. */
  readonly positionWaitMsMax: number
  readonly positionWaitersMax: number

  readonly eventClientsMax: number
  /** What may wait for one slow client of /coherence/events before it is cut. */
  readonly eventBufferBytesMax: number
  /** Who listens hears of nothing new this often. Must be less than the staleness that readers allow. */
  readonly heartbeatMs: number
  /** Changes are gathered for so long and pushed together. */
  readonly eventIntervalMs: number

  readonly bodyBytesMax: number
  /** Of `POST /commit`; each value in it is still held to `bodyBytesMax`. */
  readonly commitBodyBytesMax: number
  /** Of all bodies of requests that are not answered yet, together; an address may hold as much as is still free. */
  readonly receivedBytesMax: number
  /** A body that arrives more slowly for some seconds is refused. */
  readonly bodyBytesPerSMin: number
  readonly jsonDepthMax: number
  /** Members of objects and elements of arrays, all together, in one body. */
  readonly jsonMembersMax: number
  /** Of new ids; 512 at most, since the protocol has no longer ones. */
  readonly idBytesMax: number
  readonly commitWritesMax: number
  readonly commitReadsMax: number
  /** The longest that a refused commit may have its objects leased; 0 for no leases. */
  readonly leaseMsMax: number
  readonly listLimitMax: number
  /** So many counters of a bucket are added up, or looked through for the largest. */
  readonly countersMax: number
  /** A page of a list is cut when it is longer, and the next one goes on from there. */
  readonly listBytesMax: number
  readonly bucketsMax: number
  /** So many Idempotency-Keys are remembered of a namespace, where there are rules; our clients' ids do not count. */
  readonly keysPerNamespaceMax: number
  readonly urlBytesMax: number
  readonly headerBytesMax: number
  /** A request that has not arrived by then is refused. */
  readonly requestMsMax: number
  readonly keepAliveMs: number

  /** Bodies from this size on are compressed for those who accept it. */
  readonly compressBytesMin: number
  readonly compressedCacheBytesMax: number
  /** Memory for objects that are read often; 0 for none. */
  readonly hotCacheBytesMax: number
  /** The longest that a query over shards may take, with all its rounds. */
  readonly sqlMsMax: number
  /** So many rows or groups of all shards together are put together to a result. */
  readonly sqlRowsMax: number
  /** So many bytes of all shards together are taken for a result. */
  readonly sqlBytesMax: number
  /** Memory for results of queries over shards; 0 for none. */
  readonly sqlCacheBytesMax: number
  /** The longest that rows of a query may take to be streamed, with all that its reader takes: so long snapshots may be held. */
  readonly sqlStreamMsMax: number
  /** So many of them at once. */
  readonly sqlStreamsMax: number
  /** The longest that one shard may take for one global write. */
  readonly globalMsMax: number
  /** So long `POST /global` waits for all shards before it names those that are not there yet. */
  readonly globalWaitMsMax: number
  /** How often it is looked whether a shard is behind. */
  readonly globalIntervalMs: number
  /**
   * Which web pages may use the server: every one, or those of these origins, such as https://shop.example. `auto`: every one where there are
   * rules; else those of the same machine, and others are refused (`http/local-door.ts`).
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

/** Fills in the defaults. Throws a TypeError that names the setting and what it may be. */
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
    throw new TypeError(`There is no setting ${name}. Settings are: ${Object.keys(DEFAULT_SETTINGS).join(', ')}.`)
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
