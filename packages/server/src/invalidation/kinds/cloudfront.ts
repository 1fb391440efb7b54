/**
 * CloudFront, by CreateInvalidation (https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_CreateInvalidation.html). A
 * batch that is sent again has the same CallerReference, so it is neither done nor paid for twice. Lists are invalidated by a
 * wildcard over their queries, of which 15 may be in progress. So a batch with more buckets becomes several invalidations, and
 * while CloudFront reports that there are too many, they are retried later.
 */
import { EVERYTHING, isBucketPath, type PurgeBatch } from '@freshet/core/coherence/invalidation'
import type { CacheConfig } from '../cache-config.js'
import { type CacheKind, chunksOf, expectStatus, isSuccess } from '../cache-kind.js'
import { Requests } from '../send-request.js'
import { amzDate, signAws } from './aws-signature.js'

const API = 'https://cloudfront.amazonaws.com'
const NAMESPACE = 'http://cloudfront.amazonaws.com/doc/2020-05-31/'
const TARGETS_PER_BATCH = 1000
const WILDCARDS_PER_CALL = 15
/** CloudFront is a global service, whose requests are signed for this region. */
const REGION = 'us-east-1'

export class CloudFront implements CacheKind {
  readonly batchMax: number = TARGETS_PER_BATCH
  readonly intervalMs = 5000
  readonly canPurgeEverything = true
  readonly #requests = new Requests()
  readonly #config: CacheConfig

  constructor(config: CacheConfig) {
    this.#config = config
  }

  async purge({ targets, reference }: PurgeBatch): Promise<void> {
    if (targets[0] === EVERYTHING) return this.#invalidate(['/db/*'], reference)
    // CloudFront takes an id that ends in a star for a wildcard: it then invalidates more than necessary.
    await this.#invalidate(targets, reference)
    const lists = targets.filter(isBucketPath).map(path => `${path}?*`)
    for (const [i, chunk] of chunksOf(lists, WILDCARDS_PER_CALL).entries()) {
      await this.#invalidate(chunk, `${reference}-lists-${i}`)
    }
  }

  close(): void {
    this.#requests.close()
  }

  async #invalidate(paths: readonly string[], reference: string): Promise<void> {
    const { url = API, distribution, accessKeyId = '', secret = '', sessionToken } = this.#config
    const path = `/2020-05-31/distribution/${distribution}/invalidation`
    const body = invalidationBatch(paths, reference)
    const headers = {
      'Content-Type': 'application/xml',
      Host: new URL(url).host,
      'X-Amz-Date': amzDate(new Date()),
      ...(sessionToken === undefined ? {} : { 'X-Amz-Security-Token': sessionToken }),
    }
    const scope = { accessKeyId, secret, region: REGION, service: 'cloudfront' }
    const authorization = signAws({ method: 'POST', path, headers, body }, scope)
    const answer = await this.#requests.send({
      method: 'POST',
      url: url + path,
      headers: { ...headers, Authorization: authorization },
      body,
    })
    expectStatus(answer, `POST ${path}`, isSuccess)
  }
}

function invalidationBatch(paths: readonly string[], reference: string): string {
  const items = paths.map(path => `<Path>${escapeXml(path)}</Path>`).join('')
  return (
    `<?xml version="1.0" encoding="UTF-8"?><InvalidationBatch xmlns="${NAMESPACE}">` +
    `<CallerReference>${escapeXml(reference)}</CallerReference>` +
    `<Paths><Items>${items}</Items><Quantity>${paths.length}</Quantity></Paths></InvalidationBatch>`
  )
}

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>'"]/g, character => `&#${character.codePointAt(0)};`)
}
