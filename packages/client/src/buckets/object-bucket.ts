/** A bucket of JSON objects. */
import { FreshetError, type WriteAnswer } from '@freshet/protocol'
import type { ReadResult } from '../reading/reader.js'
import type { WriteOptions } from '../writing/writer.js'
import { Bucket } from './bucket.js'
import { attachFacts, type Facts, type Stored } from './stored.js'

export type JsonPatch<T> = {
  readonly [Name in keyof T]?: T[Name] extends object ? JsonPatch<T[Name]> | T[Name] | null : T[Name] | null
}

export class ObjectBucket<T extends object> extends Bucket<Stored<T>, T> {
  protected readonly kind = 'object'
  protected readonly as = 'text'

  /** JSON merge patch (RFC 7396): fields given are replaced, those that are null removed. OBJECT_NOT_FOUND if absent. */
  async patch(id: string, patch: JsonPatch<T>, options: WriteOptions = {}): Promise<WriteAnswer> {
    return this.change('PATCH', id, options, toJson(patch), 'application/merge-patch+json')
  }

  protected decode({ body }: ReadResult, facts: Facts): Stored<T> {
    return this.decodeItem(parse(String(body), this.pathOf(facts.id)), facts)
  }

  protected decodeItem(value: unknown, facts: Facts): Stored<T> {
    if (typeof value === 'object' && value !== null) return attachFacts(value as T, facts)
    throw notAnObject(this.pathOf(facts.id))
  }

  protected encode(value: T): { body: string; contentType: string } {
    return { body: toJson(value), contentType: 'application/json' }
  }
}

export function toJson(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text !== undefined && typeof value === 'object' && value !== null) return text
  throw new TypeError(`An object bucket holds objects, not ${value === null ? 'null' : typeof value}.`)
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw notAnObject(path, cause)
  }
}

function notAnObject(path: string, cause?: unknown): FreshetError {
  return new FreshetError(
    'ANSWER_INVALID',
    `${path} came back as something that is no JSON object. Use db.kv() for a bucket of bytes, or check what is in between.`,
    { cause },
  )
}
