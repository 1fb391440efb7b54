/** Who changed rules, settings of buckets and schemas, when and how: in the commits that did it, under keys that no request can name. */
import { randomBytes } from 'node:crypto'
import type { Store, Write } from '@freshet/core/store'
import { createIdMaker, FreshetError, type Key } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'

const AUDIT: Key = '_freshet/audit'
export const AUDIT_LIMIT_MAX = 1000

export interface Audited {
  /** The issuer and the subject of the token, or the server that was started with other rules. */
  readonly who: string
  readonly what: 'rules' | 'bucket'
  readonly bucket?: Key
  readonly before: unknown
  readonly after: unknown
}

export interface AuditEntry extends Audited {
  readonly id: string
  readonly timeMs: number
}

/** Sorts by time. */
const newId = createIdMaker({ nowMs: Date.now, randomBytes })

export function auditWrite(audited: Audited, timeMs: number): Write {
  const body = Buffer.from(JSON.stringify({ timeMs: Math.floor(timeMs), ...audited }))
  return { key: `${AUDIT}/${newId()}`, contentType: JSON_TYPE, body }
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next?: string
}

/** The oldest first. */
export async function readAudit(store: Store, after: string | undefined, limit: number): Promise<AuditPage> {
  if (!(limit >= 1 && limit <= AUDIT_LIMIT_MAX)) {
    throw new FreshetError('PARAMETER_INVALID', `limit must be a whole number from 1 to ${AUDIT_LIMIT_MAX}.`)
  }
  const { entries, next } = await store.scan(AUDIT, { limit, ...(after === undefined ? {} : { after }) })
  const decoder = new TextDecoder()
  return {
    entries: entries.map(({ id, body }) => ({ id, ...(JSON.parse(decoder.decode(body)) as Omit<AuditEntry, 'id'>) })),
    ...(next === undefined ? {} : { next }),
  }
}
