/**
 * Another Freshet server as a node, over its HTTP API. It must be reached directly: with a cache in between, a read might return
 * an old record.
 */
import type { Key, ReadVersion, Version } from '@freshet/core/store'
import { type CommitAnswer, FreshetError, fromProblem, type ListPage, parseEtag, pathOfKey } from '@freshet/protocol'
import type { Node, NodePage, NodeRange, NodeValue, NodeWrite } from './node.js'

export interface HttpNodeOptions {
  /** `http://10.0.0.1:7700` */
  readonly url: string
  /** Sent as a bearer token. */
  readonly token?: string
}

const TIMEOUT_MS = 10_000

export function createHttpNode(options: HttpNodeOptions): Node {
  return new HttpNode(options)
}

class HttpNode implements Node {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>

  constructor({ url, token }: HttpNodeOptions) {
    this.#url = url.replace(/\/$/, '')
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  }

  /** One after the other: `Node.read` requires that the last key is read last. */
  async read(keys: readonly Key[]): Promise<readonly (NodeValue | undefined)[]> {
    const values: (NodeValue | undefined)[] = []
    for (const key of keys) values.push(await this.#readOne(key))
    return values
  }

  async write({ key, body }: NodeWrite, holds: readonly ReadVersion[]): Promise<Version | undefined> {
    const path = JSON.stringify(pathOfKey(key))
    const write = body === undefined ? `{"path":${path},"delete":true}` : `{"path":${path},"value":${textOf(body)}}`
    const reads = JSON.stringify(holds.map(each => ({ path: pathOfKey(each.key), version: each.version })))
    const response = await this.#fetch('/commit', `{"reads":${reads},"writes":[${write}]}`)
    if (response.status === 409 && (await codeOf(response)) === 'COMMIT_CONFLICT') return undefined
    const { position } = (await this.#accepted(response).json()) as CommitAnswer
    return position
  }

  async scan(bucket: Key, { limit, ...range }: NodeRange): Promise<NodePage> {
    const parameters = new URLSearchParams({ ...range, limit: `${limit}`, embed: '' })
    const response = await this.#fetch(`${pathOfKey(bucket)}?${parameters}`)
    if (response.status === 404) return { entries: [] }
    const { items, next } = (await this.#accepted(response).json()) as ListPage
    const entries = items.map(({ id, version, value }) => ({ id, version, body: Buffer.from(JSON.stringify(value)) }))
    return next === undefined ? { entries } : { entries, next }
  }

  async buckets(): Promise<readonly Key[]> {
    const { namespaces } = await this.#json<{ namespaces: readonly string[] }>('/db')
    const lists = namespaces.map(async namespace => {
      const { buckets } = await this.#json<{ buckets: readonly { bucket: string }[] }>(`/db/${namespace}`)
      return buckets.map(({ bucket }) => `${namespace}/${bucket}`)
    })
    return (await Promise.all(lists)).flat()
  }

  async close(): Promise<void> {}

  async #readOne(key: Key): Promise<NodeValue | undefined> {
    const response = await this.#fetch(pathOfKey(key))
    if (response.status === 404) {
      await response.arrayBuffer()
      return undefined
    }
    const body = new Uint8Array(await this.#accepted(response).arrayBuffer())
    const version = parseEtag(response.headers.get('etag') ?? '')
    if (version !== undefined) return { version, body }
    throw new FreshetError(
      'RING_UNUSABLE',
      `${this.#url} does not answer as a Freshet server does: the ETag is missing.`,
    )
  }

  async #json<Answer>(path: string): Promise<Answer> {
    return (await this.#accepted(await this.#fetch(path)).json()) as Answer
  }

  async #fetch(path: string, body?: string): Promise<Response> {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const sent = body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': 'application/json' } }
    const headers = { ...this.#headers, 'cache-control': 'no-cache', ...sent.headers }
    const response = await fetch(`${this.#url}${path}`, { ...sent, headers, signal })
    if (response.ok || response.status === 404 || response.status === 409) return response
    const problem = fromProblem(await response.json().catch(() => undefined))
    throw (
      problem ?? new FreshetError('RING_UNAVAILABLE', `${this.#url} answered ${path} with status ${response.status}.`)
    )
  }

  #accepted(response: Response): Response {
    if (response.ok) return response
    throw new FreshetError('RING_UNAVAILABLE', `${this.#url} answered ${response.url} with status ${response.status}.`)
  }
}

async function codeOf(response: Response): Promise<string | undefined> {
  return fromProblem(await response.json().catch(() => undefined))?.code
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
}
