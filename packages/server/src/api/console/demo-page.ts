/** `GET /`: an index of the resources, for programs, or a page, for people. The files of the page are under /demo/. */
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { prefers } from '../../http/accept.js'
import { type Answer, jsonAnswer, NO_SNIFF } from '../../http/answer.js'
import type { Call, Route } from '../../routing/call.js'

export interface PageFile {
  readonly contentType: string
  readonly body: string | Uint8Array
}

/** By their path below /demo/; `index.html` is the page itself. */
export type PageFiles = Readonly<Record<string, PageFile>>

const INDEX = 'index.html'
const HTML = 'text/html'
const JSON_TYPE = 'application/json'

export class DemoPage {
  readonly #store: Store
  readonly #files: ReadonlyMap<string, PageFile>
  readonly #version: string

  constructor(store: Store, files: PageFiles, version: string) {
    this.#store = store
    this.#files = new Map(Object.entries(files).map(([path, file]) => [path.replace(/^\//, ''), file]))
    this.#version = version
  }

  routes(): readonly Route[] {
    return [
      { pattern: '/', methods: { GET: { access: 'anyone', handle: call => this.#root(call) } } },
      { pattern: '/demo', methods: { GET: { access: 'anyone', handle: () => this.#file(INDEX) } } },
      {
        pattern: '/demo/{file}',
        methods: { GET: { access: 'anyone', handle: ({ names }) => this.#file(names.join('/')) } },
        isOpenEnded: true,
      },
    ]
  }

  async #root({ exchange }: Call): Promise<Answer> {
    const types = this.#files.has(INDEX) ? [JSON_TYPE, HTML] : [JSON_TYPE]
    const chosen = prefers(exchange.request.headers.accept, types)
    if (chosen === HTML) {
      const page = this.#file(INDEX)
      return { ...page, headers: [...page.headers, 'Vary', 'Accept'] }
    }
    // Without a page there is no other form, and this one helps a browser that asks for HTML more than a refusal.
    if (chosen === undefined && this.#files.has(INDEX)) throw notAcceptable()
    return jsonAnswer(200, await this.#discovery(), ['Vary', 'Accept'])
  }

  async #discovery(): Promise<unknown> {
    return {
      name: 'freshet',
      version: this.#version,
      log: this.#store.log,
      position: await this.#store.position(),
      durability: this.#store.supports.durability,
      resources: RESOURCES,
    }
  }

  #file(path: string): Answer {
    const file = this.#files.get(path)
    if (file === undefined) throw new FreshetError('ROUTE_UNKNOWN', `There is no /demo/${path} on this server.`)
    return {
      status: 200,
      headers: ['Content-Type', file.contentType, 'Cache-Control', 'no-store', ...NO_SNIFF],
      body: file.body,
    }
  }
}

const RESOURCES = {
  namespaces: '/db',
  buckets: '/db/{namespace}',
  bucket: '/db/{namespace}/{bucket}{?after,at,embed,from,ids,limit,prefix,to}',
  bucketSettings: '/db/{namespace}/{bucket}?settings',
  bucketSchemas: '/db/{namespace}/{bucket}?schemas',
  object: '/db/{namespace}/{bucket}/{id}{?at}',
  commit: '/commit',
  tasks: '/tasks',
  task: '/tasks/{task}',
  coherence: '/coherence{?after,at,nonce}',
  segments: '/coherence/segments/{segments}',
  filter: '/coherence/filter',
  events: '/coherence/events{?after,nonce}',
  time: '/time',
  openapi: '/openapi.json',
  errors: '/errors/{code}',
  live: '/live',
  ready: '/ready',
  metrics: '/metrics',
}

function notAcceptable(): FreshetError {
  return new FreshetError('NOT_ACCEPTABLE', `This exists as ${JSON_TYPE} and as ${HTML}. Accept one of them.`)
}
