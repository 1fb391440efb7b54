/**
 * Sealed cursors: where a page ended, for callers who see only some rows. A sealed cursor reveals nothing and cannot be forged.
 * It works only for the caller who received it, for the same question, under the same rules. The same cursor is always sealed
 * to the same text.
 *
 *     12: nonce, an HMAC of the binding and the cursor | cursor, AES-256-GCM, authenticating the binding | 16: tag
 *
 * All servers over a store share the key, which is in the store under a key that no request can name.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import type { Key } from '@freshet/protocol'
import { parameterInvalid } from '../http/request-target.js'
import type { Caller } from './caller.js'

export const CURSOR_KEY: Key = '_freshet/access/cursor-key'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

/** For one question of one caller. */
export interface CursorSeal {
  seal(cursor: string): Promise<string>
  /** Throws PARAMETER_INVALID. */
  open(sealed: string): Promise<string>
}

export class CursorSeals {
  readonly #store: Store
  #secret: Promise<Uint8Array> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** `asked`: the question that the cursor belongs to, in canonical form. */
  of(caller: Caller, bucket: Key, asked: string): CursorSeal {
    const { identity, rules } = caller
    const text = JSON.stringify([identity, rules.version, caller.visibleIn(bucket) ?? null, bucket, asked])
    const bound = createHash('sha256').update(text).digest()
    return {
      seal: async cursor => seal(await this.#theSecret(), bound, cursor),
      open: async sealed => open(await this.#theSecret(), bound, sealed),
    }
  }

  /** Created with the first cursor. */
  #theSecret(): Promise<Uint8Array> {
    this.#secret ??= this.#readSecret().catch(error => {
      this.#secret = undefined
      throw error
    })
    return this.#secret
  }

  async #readSecret(): Promise<Uint8Array> {
    const known = await this.#store.get(CURSOR_KEY)
    if (known !== undefined) return known.body
    const body = randomBytes(KEY_BYTES)
    const { committed } = await this.#store.commit({
      reads: [{ key: CURSOR_KEY, version: 0 }],
      writes: [{ key: CURSOR_KEY, contentType: 'application/octet-stream', body: Buffer.from(body) }],
    })
    // Another server may have created it first.
    return committed ? body : this.#readSecret()
  }
}

function seal(secret: Uint8Array, bound: Buffer, cursor: string): string {
  const nonce = createHmac('sha256', secret).update(bound).update(cursor).digest().subarray(0, NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, secret, nonce).setAAD(bound)
  const parts = [nonce, cipher.update(cursor, 'utf8'), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(parts).toString('base64url')
}

function open(secret: Uint8Array, bound: Buffer, text: string): string {
  const sealed = Buffer.from(text, 'base64url')
  const end = sealed.length - TAG_BYTES
  if (end < NONCE_BYTES || sealed.toString('base64url') !== text) throw notOurs()
  try {
    const cipher = createDecipheriv(CIPHER, secret, sealed.subarray(0, NONCE_BYTES)).setAAD(bound)
    cipher.setAuthTag(sealed.subarray(end))
    return Buffer.concat([cipher.update(sealed.subarray(NONCE_BYTES, end)), cipher.final()]).toString()
  } catch {
    throw notOurs()
  }
}

function notOurs(): Error {
  return parameterInvalid(
    'after is not a cursor of this request. Pass the next of a page that the same caller got for the same query, under the ' +
      'present rules, or leave it out to start again.',
  )
}
