/**
 * `GET /client.js`: the client as one ES module, for web pages without a build step. It is the same for everybody and contains no
 * data, so pages of every origin may import it, even if only some origins may use the data. A server without rules refuses
 * pages of other machines earlier, as it refuses all their requests (`http/local-door.ts`).
 */
import { createHash } from 'node:crypto'
import { FreshetError } from '@freshet/protocol'
import { type Answer, NO_SNIFF } from '../../http/answer.js'
import { CompressedForms } from '../../http/content-coding.js'
import type { Call, Route } from '../../routing/call.js'
import type { PageFile } from './demo-page.js'

/**
 * The address stays the same when the server is upgraded. So a page starts with the copy that it has, and the browser fetches the
 * new module for the next visit; servers accept clients of earlier versions.
 */
const CACHE_CONTROL = 'public, max-age=60, stale-while-revalidate=86400'
const COMPRESSED_BYTES_MAX = 1024 * 1024
const HASH_LENGTH = 22

export class ClientModule {
  readonly #file: PageFile | undefined
  readonly #forms = new CompressedForms(COMPRESSED_BYTES_MAX)
  /** Read on the first request. */
  #loaded: { readonly body: Uint8Array; readonly etag: string } | undefined

  constructor(file: PageFile | undefined) {
    this.#file = file
  }

  routes(): readonly Route[] {
    return [{ pattern: '/client.js', methods: { GET: { access: 'anyone', handle: call => this.#module(call) } } }]
  }

  async #module({ exchange }: Call): Promise<Answer> {
    if (this.#file === undefined)
      throw new FreshetError('ROUTE_UNKNOWN', 'This server does not have the client as a module.')
    const { contentType } = this.#file
    this.#loaded ??= load(this.#file)
    const { body, etag } = this.#loaded
    const { headers: asked } = exchange.request
    const headers = ['ETag', etag, 'Cache-Control', CACHE_CONTROL, 'Vary', 'Accept-Encoding', ...NO_SNIFF]
    const open = { isCacheable: true, isForAllOrigins: true }
    if (isNamed(etag, asked['if-none-match'])) return { status: 304, headers, ...open }
    const coded = await this.#forms.negotiate(etag, { contentType, body }, asked['accept-encoding'])
    return {
      status: 200,
      headers: ['Content-Type', contentType, ...headers, ...coded.headers],
      body: coded.body,
      ...open,
    }
  }
}

function load(file: PageFile): { readonly body: Uint8Array; readonly etag: string } {
  const body = Buffer.from(file.body)
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, HASH_LENGTH)
  // Weak, since it is the same for the compressed forms.
  return { body, etag: `W/"${hash}"` }
}

function isNamed(etag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some(tag => [etag, '*'].includes(tag.trim()))
}
