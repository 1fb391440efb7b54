/** What the primary and its workers say to each other, beside what the store says on the same channel. */
import { FreshetError, type FreshetErrorCode } from '@freshet/protocol'
import type { MetricFamily, RecentItem, RecentKind } from '@freshet/server'
import type { Config } from '../config/options.js'

export type ToWorker =
  | { readonly freshet: 'start'; readonly config: Config; readonly slot: number }
  | { readonly freshet: 'stop' }
  /** What have you counted? */
  | { readonly freshet: 'countMetrics'; readonly question: number }
  /** What all of you have counted, as you asked. */
  | { readonly freshet: 'allMetrics'; readonly question: number; readonly figures: readonly MetricFamily[] }
  /** What do you remember of late? */
  | { readonly freshet: 'listRecent'; readonly question: number; readonly kind: RecentKind }
  /** What all of you remember, as you asked. */
  | { readonly freshet: 'allRecent'; readonly question: number; readonly items: readonly RecentItem[] }

export type FromWorker =
  /** It has its code and hears; what was said to it before is lost. */
  | { readonly freshet: 'loaded' }
  | { readonly freshet: 'ready' }
  | { readonly freshet: 'refused'; readonly error: WorkerError }
  | { readonly freshet: 'metrics'; readonly question: number; readonly figures: readonly MetricFamily[] }
  /** What have all of us counted? These are mine. */
  | { readonly freshet: 'askMetrics'; readonly question: number; readonly figures: readonly MetricFamily[] }
  | { readonly freshet: 'recent'; readonly question: number; readonly items: readonly RecentItem[] }
  /** What do all others remember? */
  | { readonly freshet: 'askRecent'; readonly question: number; readonly kind: RecentKind }

/** An error that crosses the channel: a class does not, these do. */
export interface WorkerError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly syscall?: string
  readonly stack?: string
}

export function isFreshetMessage(message: unknown): message is ToWorker | FromWorker {
  return typeof message === 'object' && message !== null && 'freshet' in message
}

export function toWorkerError(error: unknown): WorkerError {
  const { name, message, code, syscall, stack } = error as NodeJS.ErrnoException
  return {
    name: String(name),
    message: message ?? String(error),
    ...(typeof code === 'string' ? { code } : {}),
    ...(syscall === undefined ? {} : { syscall }),
    ...(stack === undefined ? {} : { stack }),
  }
}

export function fromWorkerError({ name, message, ...rest }: WorkerError): Error {
  if (name === 'FreshetError') return new FreshetError(rest.code as FreshetErrorCode, message)
  return Object.assign(new Error(message), rest)
}
