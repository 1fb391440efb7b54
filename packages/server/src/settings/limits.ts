/**
 * Refusals of what exceeds a limit. Each says what exceeds it, what the sender can do instead, and which setting raises it: for
 * operators as the flag and the variable of the command, for programs as `details.setting`.
 */
import { FreshetError, type FreshetErrorCode } from '@freshet/protocol'
import type { ServerSettings } from './server-settings.js'

/** Every limit that an operator can change: settings of the server, and options of the command alone. */
export type Limit =
  | Exclude<keyof ServerSettings, 'mayKeep' | 'corsOrigins'>
  | 'limitPerAddress'
  | 'limitPerSubject'
  | 'operationRetentionMs'

export interface Excess {
  readonly code: FreshetErrorCode
  readonly limit: Limit
  /** What exceeds the limit, and by how much: a sentence. */
  readonly what: string
  /** What the sender can do: the beginning of a sentence that goes on with the setting. */
  readonly instead: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

export function overLimit({ code, limit, what, instead, details, ...cause }: Excess): FreshetError {
  const message = `${what} ${instead}, or ${changing(limit, 'raise')}.`
  return new FreshetError(code, message, { ...cause, details: { ...details, setting: limit } })
}

/** As `raise bodyBytesMax on the server: --body-bytes-max, or FRESHET_BODY_BYTES_MAX`. */
export function changing(limit: Limit, verb: 'raise' | 'lower'): string {
  return `${verb} ${limit} on the server: --${flagOf(limit)}, or ${variableOf(limit)}`
}

/** `log-level` */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}

/** `FRESHET_LOG_LEVEL` */
export function variableOf(name: string): string {
  return `FRESHET_${flagOf(name).replaceAll('-', '_').toUpperCase()}`
}
