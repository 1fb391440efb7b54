/** What a server is started with, and what it becomes. */
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
  /** Whether its store is empty. */
  readonly isEmpty: boolean
  /** Rejects if the server fails. */
  readonly failed: Promise<never>
  /** Lets requests under way finish, then closes the store. */
  stop(): Promise<void>
  /** Ends at once everything that would outlive this process. */
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
  // With --insecure, something else keeps strangers away.
  return insecure && settings.corsOrigins === 'auto' ? { ...settings, corsOrigins: '*' } : settings
}
