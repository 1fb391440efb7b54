/** The messages between the primary and its workers. The store uses the same channel. */
import { FreshetError, type FreshetErrorCode } from '@freshet/protocol'
import type { MetricFamily, RecentItem, RecentKind } from '@freshet/server'
import type { Config } from '../config/options.js'

export type ToWorker =
  | { readonly freshet: 'start'; readonly config: Config; readonly slot: number }
  | { readonly freshet: 'stop' }
  /** Asks for the worker's metrics. */
  | { readonly freshet: 'countMetrics'; readonly question: number }
  /** Answers `askMetrics` with the metrics of all workers. */
  | { readonly freshet: 'allMetrics'; readonly question: number; readonly figures: readonly MetricFamily[] }
  /** Asks for what the worker remembers of late. */
  | { readonly freshet: 'listRecent'; readonly question: number; readonly kind: RecentKind }
  /** Answers `askRecent` with what all workers remember. */
  | { readonly freshet: 'allRecent'; readonly question: number; readonly items: readonly RecentItem[] }

export type FromWorker =
  /** The worker has loaded its code and listens; earlier messages to it are lost. */
  | { readonly freshet: 'loaded' }
  | { readonly freshet: 'ready' }
  | { readonly freshet: 'refused'; readonly error: WorkerError }
  | { readonly freshet: 'metrics'; readonly question: number; readonly figures: readonly MetricFamily[] }
  /** Asks for the metrics of all workers, and passes its own. */
  | { readonly freshet: 'askMetrics'; readonly question: number; readonly figures: readonly MetricFamily[] }
  | { readonly freshet: 'recent'; readonly question: number; readonly items: readonly RecentItem[] }
  /** Asks what all other workers remember. */
  | { readonly freshet: 'askRecent'; readonly question: number; readonly kind: RecentKind }

/** An error in a form that can cross the channel, which a class instance cannot. */
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
