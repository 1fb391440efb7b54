/**
 * Every option of the command, once: the flag `--log-level`, the variable `FRESHET_LOG_LEVEL` and the key `logLevel` of a
 * config file all derive from its one name here. The server's settings are options too, under their own names, so every
 * setting can be changed from outside.
 */
import { type CacheConfig, DEFAULT_SETTINGS, type LogLevel, type ServerSettings } from '@freshet/server/configuration'
import type { ShardsConfig } from '@freshet/shards/configuration'
import { ACCESS_OPTIONS, type AccessSettings } from './access-options.js'
import { CACHES } from './caches-kind.js'
import { both, type Option } from './option.js'
import { SHARDS } from './shards-kind.js'
import { EMBEDDED, STORE } from './store-kind.js'
import {
  countFrom,
  durationFrom,
  FOLDER,
  type OptionValue,
  ORIGINS,
  oneOf,
  PORT,
  RATE,
  SHARE,
  SWITCH,
  sizeFrom,
  TEXT,
  type ValueKind,
} from './value-kinds.js'

export { flagOf, variableOf } from '@freshet/server/configuration'

/** Which of several servers over one store trims its log is not an option: the command decides that. */
type SettingOptions = Omit<ServerSettings, 'mayKeep'>

export interface Config extends SettingOptions, AccessSettings {
  /** `embedded`, or a URL. */
  readonly store: string
  readonly data: string
  readonly port: number
  readonly host: string
  readonly workers: number
  readonly durability: 'disk' | 'relaxed'
  readonly operationMemory: 'exact' | 'compact'
  readonly operationRetentionMs: number
  readonly stopMsMax: number
  readonly drainMs: number
  readonly logLevel: LogLevel
  readonly logFormat: 'text' | 'json'
  readonly page: boolean
  readonly console: boolean
  readonly samples: boolean
  readonly record: string
  readonly recordBytesMax: number
  readonly recordSample: number
  readonly recordSecret: string
  readonly caches: readonly CacheConfig[]
  readonly shards: ShardsConfig | null
}

export type OptionName = keyof Config

export type Options = { readonly [Name in OptionName]: Option<Config[Name] & OptionValue> }

export function listOptions(coreCount: number): Options {
  return { ...commandOptions(coreCount), ...SETTING_OPTIONS }
}

function commandOptions(coreCount: number): Omit<Options, keyof SettingOptions> {
  return {
    store: {
      about: 'embedded (in --data), or the address of an engine for several servers',
      kind: STORE,
      defaults: both(EMBEDDED),
      isCommon: true,
    },
    data: { about: 'the folder of the embedded store', kind: FOLDER, defaults: both('.freshet'), isCommon: true },
    port: { about: 'the port to listen on; 0 takes any free port', kind: PORT, defaults: both(7700), isCommon: true },
    host: {
      about: 'the address to listen on; 0.0.0.0 for all addresses',
      kind: { ...TEXT, placeholder: 'ADDRESS', wants: 'an address such as 127.0.0.1 or 0.0.0.0' },
      defaults: both('127.0.0.1'),
      isCommon: true,
    },
    workers: {
      about: 'how many processes answer requests',
      kind: countFrom(1, 256),
      defaults: { dev: 1, serve: coreCount },
      isCommon: true,
    },
    durability: {
      about: 'disk: acknowledges writes on disk; relaxed: a machine crash may lose them',
      kind: oneOf('disk', 'relaxed'),
      defaults: both('disk'),
      isCommon: true,
    },
    operationMemory: {
      about:
        'exact: a repeated operation gets its first answer; compact: others are only in a filter, which errs at times',
      kind: oneOf('exact', 'compact'),
      defaults: both('exact'),
    },
    operationRetentionMs: {
      about: 'how long a client may retry an operation',
      kind: durationFrom(1000),
      defaults: both(24 * 3600 * 1000),
    },
    stopMsMax: {
      about: 'how long requests under way may take to finish when the server stops',
      kind: durationFrom(0),
      defaults: both(10_000),
    },
    drainMs: {
      about: 'how long /ready reports a stopping server before it stops, so that load balancers notice',
      kind: durationFrom(0),
      defaults: both(0),
    },
    logLevel: {
      about: 'what to log; request logs every request',
      kind: oneOf('off', 'error', 'info', 'request'),
      defaults: { dev: 'error', serve: 'info' },
      isCommon: true,
    },
    logFormat: {
      about: 'how to log',
      kind: oneOf('text', 'json'),
      defaults: { dev: 'text', serve: 'json' },
      isCommon: true,
    },
    page: {
      about: 'serve the demo page at /',
      kind: SWITCH,
      defaults: { dev: true, serve: false },
      isCommon: true,
    },
    console: {
      about: 'serve the console at /console',
      kind: SWITCH,
      defaults: both(true),
      isCommon: true,
    },
    samples: {
      about: 'put a few sample objects into an empty store',
      kind: SWITCH,
      defaults: { dev: true, serve: false },
      isCommon: true,
    },
    ...ACCESS_OPTIONS,
    ...RECORD_OPTIONS,
    caches: { about: 'caches to purge on every change', kind: CACHES, defaults: both([]) },
    shards: { about: 'the shards that queries run over', kind: SHARDS, defaults: both(null) },
  }
}

const RECORD_OPTIONS: Pick<Options, 'record' | 'recordBytesMax' | 'recordSample' | 'recordSecret'> = {
  record: {
    about: 'record acknowledged writes and answers in this file, for freshet check',
    kind: { ...TEXT, placeholder: 'FILE', wants: 'a file, or none' },
    defaults: both('none'),
    isCommon: true,
  },
  recordBytesMax: {
    about: 'the largest recording; it is then renamed to FILE.old',
    kind: sizeFrom(1024),
    defaults: both(256 * 1024 ** 2),
  },
  recordSample: { about: 'the share of objects to record', kind: SHARE, defaults: both(1) },
  recordSecret: {
    about: 'record hashes keyed with this secret instead of paths',
    kind: { ...TEXT, show: secret => (secret === 'none' ? secret : 'set') },
    defaults: both('none'),
  },
}

const SETTING_OPTIONS: { readonly [Name in keyof SettingOptions]: Option<SettingOptions[Name] & OptionValue> } = {
  lifetimeMs: {
    ...setting('lifetimeMs', durationFrom(0), 'how long caches may keep an object, unless its bucket says otherwise'),
    isCommon: true,
  },
  lifetimeMsMax: setting('lifetimeMsMax', durationFrom(1), 'the longest lifetime a bucket may ask for'),
  responseMsMax: setting('responseMsMax', durationFrom(1), 'how long a response may take before it is cut'),
  slackMs: setting('slackMs', durationFrom(0), 'how long past expiry caches may serve a copy'),
  slotMs: setting('slotMs', durationFrom(1), 'how long the tail of the sketch grows before it becomes a segment'),
  falsePositiveRateMax: setting(
    'falsePositiveRateMax',
    RATE,
    "the highest false-positive rate of the sketch's filters",
  ),
  trimIntervalMs: setting('trimIntervalMs', durationFrom(1), 'how often the change log is trimmed'),
  positionWaitMsMax: setting('positionWaitMsMax', durationFrom(0), 'how long a read with ?at= waits for a position'),
  positionWaitersMax: setting('positionWaitersMax', countFrom(1), 'how many requests may wait for a position at once'),
  eventClientsMax: setting(
    'eventClientsMax',
    countFrom(1),
    'how many clients may listen to /coherence/events, per worker',
  ),
  eventBufferBytesMax: setting('eventBufferBytesMax', sizeFrom(1), 'how much may be buffered for a slow listener'),
  heartbeatMs: setting('heartbeatMs', durationFrom(1), 'how often a listener gets a heartbeat when nothing changes'),
  eventIntervalMs: setting(
    'eventIntervalMs',
    durationFrom(0),
    'how long changes are gathered before they are pushed together',
  ),
  bodyBytesMax: { ...setting('bodyBytesMax', sizeFrom(1), 'the largest object'), isCommon: true },
  commitBodyBytesMax: setting('commitBodyBytesMax', sizeFrom(1), 'the largest POST /commit'),
  receivedBytesMax: setting('receivedBytesMax', sizeFrom(1), 'all bodies being received together, per worker'),
  bodyBytesPerSMin: setting(
    'bodyBytesPerSMin',
    sizeFrom(0),
    'the slowest rate, per second, at which a body may arrive',
  ),
  jsonDepthMax: setting('jsonDepthMax', countFrom(1), 'how deeply JSON may be nested'),
  jsonMembersMax: setting('jsonMembersMax', countFrom(1), 'how many members and elements one body may have'),
  idBytesMax: setting('idBytesMax', sizeFrom(1), 'the longest id'),
  commitWritesMax: setting('commitWritesMax', countFrom(1), 'how many writes one commit may hold'),
  commitReadsMax: setting('commitReadsMax', countFrom(1), 'how many reads one commit may name'),
  leaseMsMax: setting('leaseMsMax', durationFrom(0), 'the longest lease of a refused commit; 0 for none'),
  listLimitMax: setting('listLimitMax', countFrom(1), 'how many objects a page of a list may hold'),
  countersMax: setting('countersMax', countFrom(1), 'how many counters of a bucket ?sum and ?top may add up'),
  listBytesMax: setting('listBytesMax', sizeFrom(1), 'the largest page of a list'),
  bucketsMax: setting('bucketsMax', countFrom(1), 'how many buckets there may be'),
  keysPerNamespaceMax: setting(
    'keysPerNamespaceMax',
    countFrom(1),
    'how many Idempotency-Keys of a namespace are remembered',
  ),
  urlBytesMax: setting('urlBytesMax', sizeFrom(1), 'the longest URL'),
  headerBytesMax: setting('headerBytesMax', sizeFrom(1), 'the largest header of a request'),
  requestMsMax: setting('requestMsMax', durationFrom(1), 'how long a request may take to arrive'),
  keepAliveMs: setting('keepAliveMs', durationFrom(1), 'how long an idle connection is kept open'),
  compressBytesMin: setting('compressBytesMin', sizeFrom(1), 'the smallest body that is compressed'),
  compressedCacheBytesMax: setting('compressedCacheBytesMax', sizeFrom(0), 'memory for compressed bodies, per worker'),
  hotCacheBytesMax: setting('hotCacheBytesMax', sizeFrom(0), 'memory for objects that are read often, per worker'),
  sqlMsMax: setting('sqlMsMax', durationFrom(1), 'the longest that a query over shards may take'),
  sqlRowsMax: setting('sqlRowsMax', countFrom(1), 'how many rows or groups from shards one query may merge'),
  sqlBytesMax: setting('sqlBytesMax', sizeFrom(1), 'how many bytes shards may send for one query'),
  sqlCacheBytesMax: setting('sqlCacheBytesMax', sizeFrom(0), 'memory for results of queries over shards, per worker'),
  sqlStreamMsMax: setting('sqlStreamMsMax', durationFrom(1), 'the longest that streaming rows from shards may take'),
  sqlStreamsMax: setting(
    'sqlStreamsMax',
    countFrom(1),
    'how many queries over shards may be streamed at once, per worker',
  ),
  globalMsMax: setting('globalMsMax', durationFrom(1), 'the longest that one shard may take for a global write'),
  globalWaitMsMax: setting('globalWaitMsMax', durationFrom(1), 'how long POST /global waits for all shards'),
  globalIntervalMs: setting(
    'globalIntervalMs',
    durationFrom(1),
    'how often the server checks whether a shard is behind',
  ),
  corsOrigins: {
    ...setting<'corsOrigins', 'auto' | '*' | readonly string[]>(
      'corsOrigins',
      ORIGINS,
      'which web pages may use it; auto: without rules, only those of this machine',
    ),
    isCommon: true,
  },
}

function setting<Name extends keyof SettingOptions, Value extends SettingOptions[Name] & OptionValue>(
  name: Name,
  kind: ValueKind<Value>,
  about: string,
): Option<Value> {
  return { about, kind, defaults: both(DEFAULT_SETTINGS[name] as Value) }
}
