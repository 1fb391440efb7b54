/**
 * The one error Freshet throws on purpose, on either side of the wire. Match on `code` (listed in docs/errors.md), never
 * on the text. Over HTTP it travels as `application/problem+json` (RFC 9457), and the client throws it again.
 */

/** Stable codes: match on them. For each of them, docs/errors.md says what happened and what to do. */
export type FreshetErrorCode =
  // The request cannot be understood.
  | 'URL_INVALID'
  | 'ROUTE_UNKNOWN'
  | 'METHOD_NOT_ALLOWED'
  | 'PARAMETER_INVALID'
  | 'HEADER_INVALID'
  | 'NAME_INVALID'
  | 'QUERY_INVALID'
  | 'IDEMPOTENCY_KEY_INVALID'
  | 'IDEMPOTENCY_KEY_REQUIRED'
  | 'NOT_ACCEPTABLE'
  | 'CONTENT_TYPE_UNSUPPORTED'
  | 'BODY_INVALID'
  | 'BODY_TOO_LARGE'
  | 'URL_TOO_LONG'
  | 'HEADERS_TOO_LARGE'
  | 'REQUEST_INCOMPLETE'
  | 'LIMIT_EXCEEDED'
  | 'SCHEMA_INVALID'
  // The caller may not do this.
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'HOST_REFUSED'
  | 'ORIGIN_REFUSED'
  | 'RATE_LIMITED'
  | 'QUOTA_EXCEEDED'
  | 'SQL_INVALID'
  | 'SQL_REFUSED'
  | 'GLOBAL_REFUSED'
  // The request cannot be carried out in the current state.
  | 'OBJECT_NOT_FOUND'
  | 'BUCKET_NOT_FOUND'
  | 'BUCKET_EXISTS'
  | 'BUCKET_IN_USE'
  | 'BUCKET_DELETING'
  | 'SCHEMA_VIOLATED'
  | 'SCHEMA_MISFIT'
  | 'REFERENCE_MISSING'
  | 'ROW_REFUSED'
  | 'MIGRATION_UNFINISHED'
  | 'TASK_NOT_FOUND'
  | 'TASK_STATE'
  | 'VERSION_CONFLICT'
  | 'PRECONDITION_REQUIRED'
  | 'RULES_WIDEN'
  | 'RULES_LOCK_OUT'
  | 'COMMIT_CONFLICT'
  | 'QUERY_TOO_BROAD'
  | 'INDEX_REQUIRED'
  | 'COUNTER_OUT_OF_BOUNDS'
  | 'OPERATION_IN_PROGRESS'
  | 'OPERATION_MISMATCHED'
  | 'OPERATION_SEEN'
  | 'OPERATION_SETTLED'
  | 'OPERATION_EXPIRED'
  | 'POSITION_NOT_REACHED'
  | 'SEGMENT_GONE'
  | 'LOG_TRIMMED'
  // The server or its store is in trouble.
  | 'SERVER_BUSY'
  | 'SERVER_STOPPING'
  | 'INTERNAL'
  | 'STORE_LOCKED'
  | 'STORE_UNUSABLE'
  | 'STORE_UNAVAILABLE'
  | 'STORE_TAKEN_OVER'
  | 'STORE_CLOSED'
  | 'STORE_FULL'
  | 'STORE_DAMAGED'
  | 'RING_UNAVAILABLE'
  | 'RING_UNUSABLE'
  | 'SHARD_UNAVAILABLE'
  | 'SHARD_UNUSABLE'
  | 'SHARD_DRIFT'
  | 'SHARDS_UNSETTLED'
  // Only a client reports these.
  | 'OPTIONS_INVALID'
  | 'TOKEN_INVALID'
  | 'REQUEST_FAILED'
  | 'REQUEST_TIMEOUT'
  | 'ANSWER_INVALID'
  | 'CACHE_UNTRUSTWORTHY'
  | 'TRANSACTION_ENDED'
  | 'TRANSACTION_EXPIRED'
  // Only the command reports these.
  | 'CONFIG_INVALID'
  | 'PORT_IN_USE'
  | 'ACCESS_REQUIRED'
  | 'RULES_INVALID'
  | 'RECORDING_INVALID'
  | 'FILE_INVALID'

export interface FreshetErrorOptions {
  readonly cause?: unknown
  /** More for programs: which keys conflict, when to come back. Sent as members of the problem. */
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * The one error that Freshet throws on purpose. Match on `code`, never on the text; what caused it is its `cause`.
 *
 * @example
 * import { FreshetError } from '@freshet/client'
 *
 * try {
 *   await db.bucket('shop/products').put('tea', { name: 'Tea', price: 5 }, { ifVersion: 'absent' })
 * } catch (error) {
 *   if (error instanceof FreshetError && error.code === 'VERSION_CONFLICT') console.log('It exists.') // It exists.
 *   else throw error
 * }
 */
export class FreshetError extends Error {
  /** Stable, and listed in docs/errors.md. */
  readonly code: FreshetErrorCode
  /** More for programs: which keys conflict, when to come back. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: FreshetErrorCode, message: string, options: FreshetErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'FreshetError'
    this.code = code
    this.details = options.details ?? {}
  }
}
