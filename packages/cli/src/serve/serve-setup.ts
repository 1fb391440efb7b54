/** What every way of serving is told, and what it becomes. */
import type { Log, ServerSettings } from '@freshet/server/configuration'
import type { Mode } from '../config/option.js'
import type { Config } from '../config/options.js'

export interface ServeSetup {
  readonly mode: Mode
  readonly config: Config
  readonly log: Log
}

export interface RunningServer {
  readonly port: number
  /** Whether nothing was ever written to its store. */
  readonly isEmpty: boolean
  /** Rejects when the server cannot go on. */
  readonly failed: Promise<never>
  /** Lets requests under way finish, then closes the store. */
  stop(): Promise<void>
  /** Ends at once whatever a mere exit of this process would leave behind. */
  force(): void
}

/** The server's part of the configuration. */
export function settingsOf(config: Config): Partial<ServerSettings> {
  const {
    store,
    data,
    port,
    host,
    workers,
    durability,
    operationMemory,
    operationRetentionMs,
    stopMsMax,
    drainMs,
    logLevel,
    logFormat,
    page,
    console,
    samples,
    caches,
    shards,
    record,
    recordBytesMax,
    recordSample,
    recordSecret,
    rules,
    insecure,
    tokenSecret,
    tokenPublicKey,
    tokenJwksUrl,
    tokenOidcIssuer,
    tokenIssuer,
    tokenAudience,
    tokenLeewayMs,
    limitPerAddress,
    limitPerSubject,
    limitBurstMs,
    trustedProxies,
    ...settings
  } = config
  // Who says so has something else that keeps others away.
  return insecure && settings.corsOrigins === 'auto' ? { ...settings, corsOrigins: '*' } : settings
}
