/** Compressed forms of bodies: which coding a client accepts, and a bounded cache of recently compressed bodies. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Coding } from '@freshet/protocol'

const compressWithBrotli = promisify(brotliCompress)
const compressWithGzip = promisify(gzip)
/** A higher quality saves a few per cent for several times the time. This one is as fast as gzip, and smaller. */
const BROTLI_QUALITY = 4

const COMPRESSIBLE =
  /^(?:text\/|application\/(?:json|javascript|xml|x-ndjson|wasm)\b|image\/svg\+xml|[^;]*\+(?:json|xml)\b)/i

export function isCompressible(contentType: string): boolean {
  return COMPRESSIBLE.test(contentType)
}

/** The best coding that an Accept-Encoding header allows; undefined: send the body uncompressed. */
export function chooseCoding(acceptEncoding: string | undefined): Coding | undefined {
  if (acceptEncoding === undefined) return undefined
  const accepted = new Map<string, number>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map(text => text.trim())
    const weight = parameters.find(text => text.startsWith('q='))
    accepted.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  const weightOf = (coding: Coding) => accepted.get(coding) ?? accepted.get('*') ?? 0
  const best = weightOf('br') >= weightOf('gzip') ? 'br' : 'gzip'
  return weightOf(best) > 0 ? best : undefined
}

export function compress(body: Uint8Array, coding: Coding): Promise<Uint8Array> {
  if (coding === 'gzip') return compressWithGzip(body)
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
  }
  return compressWithBrotli(body, { params })
}

/** A body as it is sent, and the header that names its coding. */
export interface CodedBody {
  readonly headers: readonly string[]
  readonly body: Uint8Array
}

/** Compresses each form once as long as it is in demand. Drops the oldest when there is no more room. */
export class CompressedForms {
  readonly #bytesMax: number
  readonly #forms = new Map<string, Promise<Uint8Array>>()
  readonly #sizes = new Map<string, number>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The whole body in the form that an Accept-Encoding header asks for. `name`: as for `get`. */
  async negotiate(
    name: string,
    { contentType, body }: { readonly contentType: string; readonly body: Uint8Array },
    acceptEncoding: string | undefined,
  ): Promise<CodedBody> {
    const coding = isCompressible(contentType) ? chooseCoding(acceptEncoding) : undefined
    if (coding === undefined) return { headers: [], body }
    return { headers: ['Content-Encoding', coding], body: await this.get(name, body, coding) }
  }

  /** `name` identifies exactly these bytes: a key and its version. */
  get(name: string, body: Uint8Array, coding: Coding): Promise<Uint8Array> {
    const form = `${coding} ${name}`
    const known = this.#forms.get(form)
    if (known) {
      this.#forms.delete(form)
      this.#forms.set(form, known)
      return known
    }
    const made = compress(body, coding)
    this.#forms.set(form, made)
    made.then(
      bytes => this.#keep(form, bytes.length),
      () => this.#forget(form),
    )
    return made
  }

  #keep(form: string, bytes: number): void {
    this.#sizes.set(form, bytes)
    this.#bytes += bytes
    for (const [oldest] of this.#forms) {
      if (this.#bytes <= this.#bytesMax) return
      // A form that is still being compressed has no size yet, and is in use.
      if (this.#sizes.has(oldest)) this.#forget(oldest)
    }
  }

  #forget(form: string): void {
    this.#forms.delete(form)
    this.#bytes -= this.#sizes.get(form) ?? 0
    this.#sizes.delete(form)
  }
}
