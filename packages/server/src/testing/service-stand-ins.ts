/** For tests: Fastly, Cloudflare and CloudFront, as far as their documentation describes purges. */
import { signAws } from '../invalidation/kinds/aws-signature.js'
import { type Asked, type StandIn, type StandInAnswer, startStandIn } from './stand-in.js'

export const SERVICE = 'SU1Z0isxPaozGVKXdv0eY'
export const ZONE = '023e105f4ecef8ad9ca31a8372d0c353'
export const DISTRIBUTION = 'EDFDVBD6EXAMPLE'
export const ACCESS_KEY_ID = 'AKIDEXAMPLE'
export const SERVICE_SECRET = 'wJalrXUtnFEMI-K7MDENG-EXAMPLE'

/** https://www.fastly.com/documentation/reference/api/purging/ */
export function startFastly(): Promise<StandIn> {
  return startStandIn(({ method, url, headers, body }) => {
    if (headers['fastly-key'] !== SERVICE_SECRET)
      return json(401, { msg: 'Provided credentials are missing or invalid' })
    if (method !== 'POST') return json(405, { msg: 'Method not allowed' })
    if (url === `/service/${SERVICE}/purge_all`) return json(200, { status: 'ok' })
    if (url.startsWith('/purge/')) return json(200, { status: 'ok', id: '108-1391560174-974124' })
    if (url !== `/service/${SERVICE}/purge`) return json(404, { msg: 'Record not found' })
    const { surrogate_keys: keys } = JSON.parse(body) as { surrogate_keys?: unknown }
    if (!Array.isArray(keys) || keys.length === 0 || keys.length > 256) return json(400, { msg: 'Bad request' })
    if (keys.some(key => typeof key !== 'string' || key.length > 1024 || /\s/.test(key)))
      return json(400, { msg: 'Bad key' })
    return json(200, Object.fromEntries(keys.map(key => [key, '108-1391560174-974124'])))
  })
}

export interface CloudflareOptions {
  readonly itemsMax?: number
  /** How many calls it accepts before it asks the client to wait. */
  readonly callsMax?: number
}

/** https://developers.cloudflare.com/api/resources/cache/methods/purge/ */
export function startCloudflare({ itemsMax = 100, callsMax = 1000 }: CloudflareOptions = {}): Promise<StandIn> {
  let calls = 0
  const refuse = (status: number, message: string, headers: Readonly<Record<string, string>> = {}) => ({
    ...json(status, { success: false, errors: [{ code: 1000 + status, message }], messages: [], result: null }),
    headers,
  })
  return startStandIn(({ method, url, headers, body }) => {
    if (headers.authorization !== `Bearer ${SERVICE_SECRET}`) return refuse(403, 'Authentication error')
    if (method !== 'POST' || url !== `/client/v4/zones/${ZONE}/purge_cache`) return refuse(404, 'No route')
    if (headers['content-type'] !== 'application/json') return refuse(415, 'Unsupported media type')
    if (++calls > callsMax) {
      calls = 0
      return refuse(429, 'Rate limited. Please wait and consider throttling your request speed', { 'retry-after': '1' })
    }
    const [kind, ...others] = Object.entries(JSON.parse(body) as Record<string, unknown>)
    if (kind === undefined || others.length > 0) return refuse(400, 'Request must contain one of the purge kinds')
    const [name, items] = kind
    if (name === 'purge_everything' && items === true) return json(200, PURGED)
    if (!['files', 'tags'].includes(name) || !Array.isArray(items)) return refuse(400, 'Invalid purge')
    if (items.length === 0 || items.length > itemsMax) return refuse(400, `You may only purge up to ${itemsMax} items`)
    if (name === 'files' && !items.every(item => /^https?:\/\//.test(item)))
      return refuse(400, 'Unable to purge: bad URL')
    return json(200, PURGED)
  })
}

const PURGED = { success: true, errors: [], messages: [], result: { id: ZONE } }

export interface CloudFrontStandIn extends StandIn {
  /** The paths of all invalidations, by reference. */
  readonly made: ReadonlyMap<string, readonly string[]>
  /** Completes all invalidations in progress. */
  finish(): void
}

/** https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_CreateInvalidation.html */
export async function startCloudFront(): Promise<CloudFrontStandIn> {
  const made = new Map<string, readonly string[]>()
  let inProgress: string[] = []
  const standIn = await startStandIn(asked => {
    const { method, url, headers, body } = asked
    if (method !== 'POST' || url !== `/2020-05-31/distribution/${DISTRIBUTION}/invalidation`) {
      return xmlError(404, 'NoSuchDistribution')
    }
    if (!isSigned(asked)) return xmlError(403, 'SignatureDoesNotMatch')
    if (!headers['content-type']?.includes('xml')) return xmlError(400, 'MalformedXML')
    const reference = /<CallerReference>([^<]+)<\/CallerReference>/.exec(body)?.[1]
    const paths = [...body.matchAll(/<Path>([^<]+)<\/Path>/g)].map(match => match[1]!)
    const quantity = Number(/<Quantity>(\d+)<\/Quantity>/.exec(body)?.[1])
    if (reference === undefined) return xmlError(400, 'MissingBody')
    if (quantity !== paths.length) return xmlError(400, 'InconsistentQuantities')
    if (paths.some(path => !path.startsWith('/') || path.length > 4000)) return xmlError(400, 'InvalidArgument')
    const before = made.get(reference)
    if (before !== undefined) {
      return `${before}` === `${paths}` ? created(reference) : xmlError(409, 'InvalidationBatchAlreadyExists')
    }
    const all = [...inProgress, ...paths]
    const wildcards = all.filter(path => path.endsWith('*')).length
    if (wildcards > 15 || all.length - wildcards > 3000) return xmlError(400, 'TooManyInvalidationsInProgress')
    inProgress = all
    made.set(reference, paths)
    return created(reference)
  })
  const finish = () => {
    inProgress = []
  }
  return Object.assign(standIn, { made, finish })
}

function isSigned({ method, url, headers, body }: Asked): boolean {
  const names = /SignedHeaders=([^,]+),/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? []
  if (!names.includes('host') || !names.includes('x-amz-date')) return false
  const signed = Object.fromEntries(names.map(name => [name, String(headers[name])]))
  const scope = { accessKeyId: ACCESS_KEY_ID, secret: SERVICE_SECRET, region: 'us-east-1', service: 'cloudfront' }
  return headers.authorization === signAws({ method, path: url, headers: signed, body }, scope)
}

function created(reference: string): StandInAnswer {
  return { status: 201, body: `<Invalidation><Id>I${reference.length}</Id><Status>InProgress</Status></Invalidation>` }
}

function xmlError(status: number, code: string): StandInAnswer {
  return { status, body: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code></Error></ErrorResponse>` }
}

function json(status: number, value: unknown): StandInAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}
