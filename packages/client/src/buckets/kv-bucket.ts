/** A bucket of bytes, each with its content type. */
import { FreshetError, type Version } from '@freshet/protocol'
import type { ReadResult } from '../reading/reader.js'
import type { Served } from '../reading/served.js'
import { Bucket } from './bucket.js'
import type { Facts } from './stored.js'

/** Bytes that were read, with their version and their source. */
export interface StoredBytes {
  /** The id of the bytes in their bucket. */
  readonly id: string
  /** Grows with every write. Pass it as `ifVersion` to replace exactly these bytes. */
  readonly version: Version
  /** What they are, such as `image/png`. */
  readonly contentType: string
  /** The caller's own copy, to keep or to change. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Which cache or server answered. */
  readonly served: Served
}

/** What can be written to a bucket of bytes. Text is stored as UTF-8. */
export type BytesInput = Uint8Array | ArrayBuffer | string

/**
 * A bucket of bytes, each with its content type: `db.kv('shop/images')`.
 *
 * @example
 * const images = db.kv('shop/images')
 * await images.put('mug.svg', '<svg/>', { contentType: 'image/svg+xml' })
 * const image = await images.get('mug.svg')
 * if (image) console.log(image.contentType, new TextDecoder().decode(image.bytes)) // image/svg+xml <svg/>
 */
export class KvBucket extends Bucket<StoredBytes, BytesInput> {
  protected readonly kind = 'kv'
  protected readonly as = 'bytes'

  protected decode({ body, contentType }: ReadResult, facts: Facts): StoredBytes {
    return { ...facts, contentType, bytes: new Uint8Array(body as Uint8Array<ArrayBuffer>) }
  }

  protected decodeItem(value: unknown, facts: Facts): StoredBytes {
    const { contentType, base64 } = (value ?? {}) as { contentType?: unknown; base64?: unknown }
    if (typeof contentType !== 'string' || typeof base64 !== 'string') throw notBytes(this.pathOf(facts.id))
    return { ...facts, contentType, bytes: Uint8Array.from(atob(base64), character => character.charCodeAt(0)) }
  }

  /** Text is stored as UTF-8. */
  protected encode(input: BytesInput, contentType?: string): { body: Uint8Array<ArrayBuffer>; contentType: string } {
    if (typeof input === 'string') {
      return { body: new TextEncoder().encode(input), contentType: contentType ?? 'text/plain; charset=utf-8' }
    }
    if (!(input instanceof Uint8Array) && !(input instanceof ArrayBuffer)) {
      throw new TypeError(
        'A kv bucket holds bytes: pass a Uint8Array, an ArrayBuffer or a string. Use db.bucket() for objects.',
      )
    }
    return { body: new Uint8Array(input), contentType: contentType ?? 'application/octet-stream' }
  }
}

function notBytes(path: string): FreshetError {
  return new FreshetError(
    'ANSWER_INVALID',
    `The server returned something other than bytes for ${path} in a list. Use db.bucket() for a bucket of objects.`,
  )
}
