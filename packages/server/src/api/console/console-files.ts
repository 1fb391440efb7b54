/**
 * `/console`: the files of the web pages for operators. They are the same for everybody and contain no data: the pages request
 * the data with the token that the user has entered.
 *
 * The pages may load nothing from elsewhere, and run only their own code. There is one exception: the worker that runs what the
 * user types into the JavaScript console. It has its own policy, which lets it evaluate code, and no page around it.
 */
import { FreshetError } from '@freshet/protocol'
import { type Answer, NO_SNIFF, NO_STORE } from '../../http/answer.js'
import { CompressedForms } from '../../http/content-coding.js'
import type { Call, Route } from '../../routing/call.js'
import type { PageFiles } from './demo-page.js'

const INDEX = 'index.html'
/** The start of its name; a hash follows. */
const EVALUATING = /^assets\/run-code-/
/** These names contain a hash, so the content under such a name never changes. */
const LASTING = /^assets\//
const COMPRESSED_BYTES_MAX = 4 * 1024 * 1024

const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "worker-src 'self'"],
  ...["img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ')
const EVALUATING_POLICY = "default-src 'none'; script-src 'self' 'unsafe-eval'; connect-src 'self'"

export class ConsoleFiles {
  readonly #files: PageFiles
  readonly #forms = new CompressedForms(COMPRESSED_BYTES_MAX)

  constructor(files: PageFiles) {
    this.#files = files
  }

  routes(): readonly Route[] {
    return [
      {
        pattern: '/console',
        methods: { GET: { access: 'anyone', handle: call => this.#file(INDEX, call) } },
        isPage: true,
      },
      {
        pattern: '/console/{file}',
        methods: { GET: { access: 'anyone', handle: call => this.#file(call.names.join('/'), call) } },
        isOpenEnded: true,
      },
    ]
  }

  async #file(path: string, { exchange }: Call): Promise<Answer> {
    const file = Object.hasOwn(this.#files, path) ? this.#files[path] : undefined
    if (file === undefined) throw new FreshetError('ROUTE_UNKNOWN', `The console on this server has no ${path}.`)
    const { contentType } = file
    const accepted = exchange.request.headers['accept-encoding']
    const coded = await this.#forms.negotiate(path, { contentType, body: Buffer.from(file.body) }, accepted)
    const isLasting = LASTING.test(path)
    return {
      status: 200,
      headers: [
        ...['Content-Type', contentType, ...NO_SNIFF, 'Vary', 'Accept-Encoding'],
        ...['Content-Security-Policy', EVALUATING.test(path) ? EVALUATING_POLICY : POLICY],
        ...['Referrer-Policy', 'no-referrer', 'Cross-Origin-Opener-Policy', 'same-origin'],
        ...(isLasting ? ['Cache-Control', 'public, max-age=31536000, immutable'] : NO_STORE),
        ...coded.headers,
      ],
      body: coded.body,
      isCacheable: isLasting,
    }
  }
}
