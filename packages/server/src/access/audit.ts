/**
 * Who did what, when, and from where: changes of rules, settings of buckets and schemas, in the commits that made them;
 * statements of `/sql` and `/global`; restores. Under keys that no request can name.
 */
import { randomBytes } from 'node:crypto'
import type { Store, Write } from '@freshet/core/store'
import { createIdMaker, FreshetError, type Key, timeOfId, type Version } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'

const AUDIT: Key = '_freshet/audit'
const AUDIT_LIMIT_MAX = 1000

export interface Audited {
  /** The issuer and the subject of the token, or the server that was started with other rules. */
  readonly who: string
  /** The address that the request came from, past trusted proxies; for other changes, what caused them. */
  readonly from: string
  readonly what: 'rules' | 'bucket' | 'sql' | 'global' | 'restore' | 'token'
  readonly bucket?: Key
  readonly before: unknown
  readonly after: unknown
  /** How often the same was done within a second. Default: 1. */
  readonly times?: number
}

export interface AuditEntry extends Audited {
  readonly id: string
  /** The time of day, by the server's clock. */
  readonly time: string
  /** The same, in milliseconds since 1970. */
  readonly timeMs: number
  /** Of the commit that made the change; for rules, their version. */
  readonly version: Version
}

/** Sorts by time. */
const newId = createIdMaker({ nowMs: Date.now, randomBytes })

export function auditWrite(audited: Audited): Write {
  return { key: `${AUDIT}/${newId()}`, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(audited)) }
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next?: string
}

/** Returns the oldest entries first. */
export async function readAudit(store: Store, after: string | undefined, limit: number): Promise<AuditPage> {
  if (!(limit >= 1 && limit <= AUDIT_LIMIT_MAX)) {
    throw new FreshetError('PARAMETER_INVALID', `limit must be a whole number from 1 to ${AUDIT_LIMIT_MAX}.`)
  }
  const { entries, next } = await store.scan(AUDIT, { limit, ...(after === undefined ? {} : { after }) })
  const decoder = new TextDecoder()
  return {
    entries: entries.map(({ id, version, body }) => {
      const timeMs = timeOfId(id)
      const { from = '', ...audited } = JSON.parse(decoder.decode(body)) as Omit<Audited, 'from'> & Partial<Audited>
      // Until 0.1.0 an entry's time came from the store's clock, and it had no address.
      return { id, version, from, ...audited, time: new Date(timeMs).toISOString(), timeMs }
    }),
    ...(next === undefined ? {} : { next }),
  }
}
