/** Errors on the wire: RFC 9457 problem documents, with the error's code as a member. */
import { FreshetError, type FreshetErrorCode } from './freshet-error.js'

export const PROBLEM_TYPE = 'application/problem+json'

export interface Problem {
  /** Where the code is explained, relative to the server's root. */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: FreshetErrorCode
  readonly [detail: string]: unknown
}

/** The HTTP status of each code that a server answers with; the others never leave their process. */
export const STATUS_OF_CODE: Readonly<Partial<Record<FreshetErrorCode, number>>> = {
  URL_INVALID: 400,
  ROUTE_UNKNOWN: 404,
  METHOD_NOT_ALLOWED: 405,
  PARAMETER_INVALID: 400,
  HEADER_INVALID: 400,
  IDEMPOTENCY_KEY_INVALID: 400,
  IDEMPOTENCY_KEY_REQUIRED: 400,
  NAME_INVALID: 400,
  QUERY_INVALID: 400,
  NOT_ACCEPTABLE: 406,
  CONTENT_TYPE_UNSUPPORTED: 415,
  COUNTER_OUT_OF_BOUNDS: 409,
  OPERATION_IN_PROGRESS: 409,
  OPERATION_MISMATCHED: 422,
  OPERATION_SEEN: 409,
  OPERATION_SETTLED: 409,
  OPERATION_EXPIRED: 410,
  BODY_INVALID: 400,
  BODY_TOO_LARGE: 413,
  URL_TOO_LONG: 414,
  HEADERS_TOO_LARGE: 431,
  REQUEST_INCOMPLETE: 408,
  LIMIT_EXCEEDED: 400,
  SCHEMA_INVALID: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  HOST_REFUSED: 403,
  ORIGIN_REFUSED: 403,
  RATE_LIMITED: 429,
  QUOTA_EXCEEDED: 403,
  SQL_INVALID: 400,
  SQL_REFUSED: 422,
  GLOBAL_REFUSED: 422,
  OBJECT_NOT_FOUND: 404,
  BUCKET_NOT_FOUND: 404,
  BUCKET_EXISTS: 409,
  BUCKET_IN_USE: 409,
  BUCKET_DELETING: 409,
  SCHEMA_MISFIT: 409,
  MIGRATION_UNFINISHED: 409,
  TASK_STATE: 409,
  TASK_NOT_FOUND: 404,
  SCHEMA_VIOLATED: 422,
  REFERENCE_MISSING: 422,
  ROW_REFUSED: 422,
  VERSION_CONFLICT: 412,
  PRECONDITION_REQUIRED: 428,
  RULES_INVALID: 400,
  RULES_WIDEN: 409,
  RULES_LOCK_OUT: 409,
  COMMIT_CONFLICT: 409,
  QUERY_TOO_BROAD: 422,
  INDEX_REQUIRED: 422,
  POSITION_NOT_REACHED: 503,
  SEGMENT_GONE: 404,
  LOG_TRIMMED: 410,
  SERVER_BUSY: 503,
  SERVER_STOPPING: 503,
  INTERNAL: 500,
  STORE_LOCKED: 503,
  STORE_UNUSABLE: 503,
  STORE_UNAVAILABLE: 503,
  STORE_TAKEN_OVER: 503,
  STORE_CLOSED: 503,
  STORE_FULL: 507,
  STORE_DAMAGED: 500,
  RING_UNAVAILABLE: 503,
  RING_UNUSABLE: 500,
  SHARD_UNAVAILABLE: 503,
  SHARD_UNUSABLE: 500,
  SHARD_DRIFT: 409,
  SHARDS_UNSETTLED: 503,
}

export function statusOf(code: FreshetErrorCode): number {
  return STATUS_OF_CODE[code] ?? 500
}

export function toProblem(error: FreshetError): Problem {
  const { code, message, details } = error
  return {
    ...details,
    type: `/errors/${code}`,
    title: code.toLowerCase().replaceAll('_', ' '),
    status: statusOf(code),
    detail: message,
    code,
  }
}

const OWN_MEMBERS = ['type', 'title', 'status', 'detail', 'code']

/**
 * The error in a parsed problem document; undefined if the document is not ours. It is recognised by its type, not by the
 * table above: so clients need not carry the table, and know the errors of newer servers.
 */
export function fromProblem(value: unknown): FreshetError | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { type, code, detail } = value as Record<string, unknown>
  if (typeof code !== 'string' || type !== `/errors/${code}`) return undefined
  const details = Object.fromEntries(Object.entries(value).filter(([name]) => !OWN_MEMBERS.includes(name)))
  return new FreshetError(code as FreshetErrorCode, String(detail ?? code), { details })
}
