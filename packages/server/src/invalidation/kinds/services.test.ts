import type { PurgeBatch } from '@freshet/core/coherence/invalidation'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  ACCESS_KEY_ID,
  type CloudFrontStandIn,
  DISTRIBUTION,
  SERVICE,
  SERVICE_SECRET,
  startCloudFront,
  startCloudflare,
  startFastly,
  ZONE,
} from '../../testing/service-stand-ins.js'
import type { StandIn } from '../../testing/stand-in.js'
import type { CacheKind } from '../cache-kind.js'
import { Cloudflare } from './cloudflare.js'
import { CloudFront } from './cloudfront.js'
import { Fastly } from './fastly.js'

const LISTS = '/db/shop/tea'
const GREEN = '/db/shop/tea/green'
const SITES = ['https://shop.example', 'https://www.shop.example']

let batches = 0

function batchOf(targets: readonly string[], reference = `r-${++batches}`): PurgeBatch {
  return { targets, reference, repeats: 0, readTo: 0 }
}

const objects = (count: number) => Array.from({ length: count }, (_, i) => `${LISTS}/${i}`)
const buckets = (count: number) => Array.from({ length: count }, (_, i) => `/db/shop/b${i}`)

const toStop: { stop(): Promise<void> }[] = []
const toClose: CacheKind[] = []

afterEach(async () => {
  for (const kind of toClose.splice(0)) kind.close()
  await Promise.all(toStop.splice(0).map(each => each.stop()))
})

function using<Kind extends CacheKind>(kind: Kind, standIn: StandIn): Kind {
  toClose.push(kind)
  toStop.push(standIn)
  return kind
}

describe('Fastly', () => {
  let fastly: StandIn
  beforeEach(async () => {
    fastly = await startFastly()
  })
  const config = { name: 'f', kind: 'fastly', service: SERVICE, secret: SERVICE_SECRET } as const

  test('is sent up to 256 tags in one call', async () => {
    const kind = using(new Fastly({ ...config, url: fastly.url, tags: true }), fastly)
    await kind.purge(batchOf([LISTS, ...objects(kind.batchMax - 1)]))
    expect(fastly.asked).toHaveLength(1)
    const { surrogate_keys: keys } = JSON.parse(fastly.asked[0]!.body)
    expect(keys).toHaveLength(256)
    expect(keys.slice(0, 2)).toEqual([LISTS, `${LISTS}/0`])
  })

  test('an object whose path is too long for a tag is purged with its bucket', async () => {
    const kind = using(new Fastly({ ...config, url: fastly.url, tags: true }), fastly)
    await kind.purge(batchOf([`${LISTS}/${'%C3%A4'.repeat(250)}`]))
    expect(JSON.parse(fastly.asked[0]!.body)).toEqual({ surrogate_keys: [LISTS] })
  })

  test('without tags is sent each URL at each site', async () => {
    const kind = using(new Fastly({ ...config, url: fastly.url, sites: SITES }), fastly)
    await kind.purge(batchOf([GREEN, LISTS]))
    expect(fastly.asked.map(({ url }) => url).sort()).toEqual([
      `/purge/shop.example${LISTS}`,
      `/purge/shop.example${GREEN}`,
      `/purge/www.shop.example${LISTS}`,
      `/purge/www.shop.example${GREEN}`,
    ])
  })

  test('purges everything in one call', async () => {
    const kind = using(new Fastly({ ...config, url: fastly.url, tags: true }), fastly)
    await kind.purge(batchOf(['*']))
    expect(fastly.asked.map(({ url }) => url)).toEqual([`/service/${SERVICE}/purge_all`])
  })

  test('a wrong secret makes the purge fail', async () => {
    const kind = using(new Fastly({ ...config, secret: 'wrong', url: fastly.url, tags: true }), fastly)
    await expect(kind.purge(batchOf([GREEN]))).rejects.toMatchObject({ name: 'PurgeFailure', status: 401 })
  })
})

describe('Cloudflare', () => {
  const config = { name: 'c', kind: 'cloudflare', zone: ZONE, secret: SERVICE_SECRET, sites: SITES } as const

  test('is sent objects by URL at each site and lists by tag, as many as one call takes', async () => {
    const cloudflare = await startCloudflare()
    const kind = using(new Cloudflare({ ...config, url: `${cloudflare.url}/client/v4`, tags: true }), cloudflare)
    await kind.purge(batchOf([LISTS, ...objects(kind.batchMax - 1)]))
    const bodies = cloudflare.asked.map(({ body }) => JSON.parse(body))
    expect(bodies[0]).toEqual({ tags: [LISTS] })
    expect(bodies[1].files).toHaveLength(98)
    expect(bodies[1].files).toContain(`https://www.shop.example${LISTS}/48`)
    expect(bodies).toHaveLength(2)
  })

  test('is sent fewer if the plan allows fewer', async () => {
    const cloudflare = await startCloudflare({ itemsMax: 30 })
    const url = `${cloudflare.url}/client/v4`
    const kind = using(new Cloudflare({ ...config, url, itemsMax: 30 }), cloudflare)
    await kind.purge(batchOf([LISTS, ...objects(kind.batchMax - 1)]))
    expect(cloudflare.asked.map(({ body }) => JSON.parse(body).files.length)).toEqual([30])
  })

  test('purges everything in one call', async () => {
    const cloudflare = await startCloudflare()
    const kind = using(new Cloudflare({ ...config, url: `${cloudflare.url}/client/v4` }), cloudflare)
    await kind.purge(batchOf(['*']))
    expect(cloudflare.asked.map(({ body }) => body)).toEqual(['{"purge_everything":true}'])
  })

  test('after too many calls, the delay that it asks for is kept', async () => {
    const cloudflare = await startCloudflare({ callsMax: 1 })
    const kind = using(new Cloudflare({ ...config, url: `${cloudflare.url}/client/v4` }), cloudflare)
    await kind.purge(batchOf([GREEN]))
    await expect(kind.purge(batchOf([GREEN]))).rejects.toMatchObject({ status: 429, retryAfterMs: 1000 })
    await kind.purge(batchOf([GREEN]))
  })
})

describe('CloudFront', () => {
  let cloudFront: CloudFrontStandIn
  let kind: CloudFront
  const config = {
    name: 'a',
    kind: 'cloudfront',
    distribution: DISTRIBUTION,
    accessKeyId: ACCESS_KEY_ID,
    secret: SERVICE_SECRET,
  } as const
  beforeEach(async () => {
    cloudFront = await startCloudFront()
    kind = using(new CloudFront({ ...config, url: cloudFront.url }), cloudFront)
  })

  test('invalidates objects, and lists with any parameters', async () => {
    await kind.purge(batchOf([GREEN, LISTS, `${LISTS}/it's`], 'r'))
    expect(cloudFront.made.get('r')).toEqual([GREEN, LISTS, `${LISTS}/it&#39;s`])
    expect(cloudFront.made.get('r-lists-0')).toEqual([`${LISTS}?*`])
  })

  test('a batch that is sent again under its reference is not invalidated twice', async () => {
    await kind.purge(batchOf([GREEN, LISTS], 'r'))
    await kind.purge(batchOf([GREEN, LISTS], 'r'))
    expect(cloudFront.made.size).toBe(2)
    await expect(kind.purge(batchOf([LISTS], 'r'))).rejects.toMatchObject({ status: 409 })
  })

  test('more wildcards than may be in progress succeed when the earlier ones are done', async () => {
    const batch = batchOf(buckets(20), 'r')
    await expect(kind.purge(batch)).rejects.toThrow('TooManyInvalidationsInProgress')
    cloudFront.finish()
    await kind.purge(batch)
    expect([...cloudFront.made.values()].map(paths => paths.length)).toEqual([20, 15, 5])
  })

  test('a full batch stays within its limits', async () => {
    await kind.purge(batchOf([LISTS, ...objects(kind.batchMax - 1)]))
    expect(cloudFront.made.size).toBe(2)
  })

  test('purges everything with one wildcard', async () => {
    await kind.purge(batchOf(['*'], 'r'))
    expect(cloudFront.made.get('r')).toEqual(['/db/*'])
  })

  test('is signed, with a session token if there is one', async () => {
    const withToken = using(new CloudFront({ ...config, url: cloudFront.url, sessionToken: 'token' }), cloudFront)
    await withToken.purge(batchOf([GREEN]))
    expect(cloudFront.asked[0]!.headers.authorization).toContain('x-amz-security-token')
    const wrong = using(new CloudFront({ ...config, url: cloudFront.url, secret: 'wrong' }), cloudFront)
    await expect(wrong.purge(batchOf([GREEN]))).rejects.toThrow('SignatureDoesNotMatch')
  })
})
