/**
 * The configuration of the caches that are purged of every change. Every mistake is reported with its place. Secrets are never
 * shown, and neither is the value of an unknown field, which may be a mistyped secret.
 */
export type CacheKindName = 'varnish' | 'squid' | 'nginx' | 'traffic-server' | 'fastly' | 'cloudflare' | 'cloudfront'

export interface CacheConfig {
  /** Unique to this cache: its cursor is kept under this name. */
  readonly name: string
  readonly kind: CacheKindName
  /** Where it takes purges; for services, the address of their API, if it is not the usual one. */
  readonly url?: string
  readonly secret?: string
  /** The addresses at which readers reach it, since caches keep copies by host. Default: `url`. */
  readonly sites?: readonly string[]
  /** Varnish: whether its VCL supports bans; see the README. */
  readonly bans?: boolean
  /** Fastly, Cloudflare: purge by tags, which answers then carry. */
  readonly tags?: boolean
  readonly service?: string
  readonly zone?: string
  readonly distribution?: string
  readonly accessKeyId?: string
  readonly sessionToken?: string
  /** Cloudflare: how many URLs or tags one call may name. */
  readonly itemsMax?: number
  /** The minimum time between two batches. */
  readonly intervalMs?: number
  /** When a purge is repeated, if later than the longest response time. For caches that fetch from other caches. */
  readonly repeatAfterMs?: number
}

interface Fields {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

const FIELDS_OF_KIND: Readonly<Record<CacheKindName, Fields>> = {
  varnish: { required: ['url'], optional: ['secret', 'sites', 'bans'] },
  squid: { required: ['url'], optional: ['secret', 'sites'] },
  nginx: { required: ['url', 'secret'], optional: ['sites'] },
  'traffic-server': { required: ['url'], optional: ['secret', 'sites'] },
  fastly: { required: ['service', 'secret'], optional: ['url', 'sites', 'tags'] },
  cloudflare: { required: ['zone', 'secret', 'sites'], optional: ['url', 'tags', 'itemsMax'] },
  cloudfront: { required: ['distribution', 'accessKeyId', 'secret'], optional: ['url', 'sessionToken'] },
}

const FIELDS_OF_ALL = ['name', 'kind', 'intervalMs', 'repeatAfterMs']
/** Each may also be in an environment variable: `secretFrom` names it. */
const SECRET_FIELDS = ['secret', 'sessionToken']
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/
const CODE = /^[A-Za-z0-9_-]{1,128}$/
/** What a header can contain. */
const SECRET = /^[\x21-\x7e]{1,4096}$/

export interface CachesRead {
  readonly caches: readonly CacheConfig[]
  /** One line each. */
  readonly mistakes: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>
type Given = Readonly<Record<string, unknown>>

export function readCaches(value: unknown, environment: Environment = {}): CachesRead {
  if (!Array.isArray(value))
    return { caches: [], mistakes: ['They must be a list, such as [{ "name": ..., "kind": ... }].'] }
  const mistakes: string[] = []
  const caches = value.map((each, i) => {
    const given: Given = typeof each === 'object' && each !== null ? each : {}
    const cache = withSecrets(given, environment, mistake => mistakes.push(`${placeOf(given, i)}: ${mistake}`))
    for (const mistake of mistakesIn(cache)) mistakes.push(`${placeOf(given, i)}: ${mistake}`)
    return cache as unknown as CacheConfig
  })
  const names = caches.map(cache => cache.name)
  const twice = names.find((name, i) => name !== undefined && names.indexOf(name) !== i)
  if (twice !== undefined) mistakes.push(`Two of them are named ${JSON.stringify(twice)}. Give each its own name.`)
  return { caches, mistakes }
}

/** The headers in which answers must carry their tags. */
export function tagHeadersOf(caches: readonly CacheConfig[]): readonly string[] {
  const header = (cache: CacheConfig) => (cache.kind === 'fastly' ? 'Surrogate-Key' : 'Cache-Tag')
  return [...new Set(caches.filter(cache => cache.tags).map(header))]
}

/** All values that must never be shown. */
export function secretsOf(cache: CacheConfig): readonly string[] {
  return [cache.secret, cache.sessionToken].filter(secret => secret !== undefined)
}

function placeOf({ name }: Given, index: number): string {
  return typeof name === 'string' && NAME.test(name) ? `cache ${JSON.stringify(name)}` : `cache ${index + 1}`
}

/** Replaces the names of variables by their values. */
function withSecrets(given: Given, environment: Environment, object: (mistake: string) => void): Given {
  const cache: Record<string, unknown> = { ...given }
  for (const field of SECRET_FIELDS) {
    const from = `${field}From`
    if (!(from in given)) continue
    const variable = given[from]
    delete cache[from]
    if (field in given) object(`it has ${field} and ${from}; leave one out.`)
    else if (typeof variable !== 'string') object(`${from} must be the name of a variable.`)
    else if (!environment[variable])
      object(`the variable ${JSON.stringify(variable)}, which ${from} names, is not set.`)
    // The mistake has been reported, so any value avoids a second report.
    cache[field] = (typeof variable === 'string' && environment[variable]) || '-'
  }
  return cache
}

function mistakesIn(cache: Given): readonly string[] {
  const { kind } = cache
  if (typeof kind !== 'string' || !Object.hasOwn(FIELDS_OF_KIND, kind)) {
    return [`kind must be one of ${Object.keys(FIELDS_OF_KIND).join(', ')}.`]
  }
  const { required, optional } = FIELDS_OF_KIND[kind as CacheKindName]
  const known = [...FIELDS_OF_ALL, ...required, ...optional]
  const mayBeFrom = SECRET_FIELDS.filter(field => known.includes(field)).map(field => `${field}From`)
  return [
    ...['name', ...required]
      .filter(field => !(field in cache))
      .map(field => `it needs ${ABOUT[field]}, as "${field}".`),
    ...(kind === 'fastly' && !cache.tags && !('sites' in cache) ? ['it needs "sites", or "tags": true.'] : []),
    ...Object.keys(cache)
      .filter(field => !known.includes(field))
      .map(
        field => `there is no field ${JSON.stringify(field)}; ${kind} accepts ${[...known, ...mayBeFrom].join(', ')}.`,
      ),
    ...Object.entries(cache)
      .filter(([field, value]) => known.includes(field) && !isValid(field, value))
      .map(([field]) => `${field} must be ${ABOUT[field]}.`),
  ]
}

const ABOUT: Readonly<Record<string, string>> = {
  name: '1 to 63 of a-z, 0-9, - and _',
  kind: 'a kind of cache',
  url: 'an address such as http://10.0.0.5:6081, without a path, a user or a password',
  sites: 'a list of addresses such as ["https://shop.example"], without a path',
  secret: 'the secret for its purges, of printable characters without spaces',
  sessionToken: 'a session token',
  bans: 'true or false',
  tags: 'true or false',
  service: 'the id of a service',
  zone: 'the id of a zone',
  distribution: 'the id of a distribution',
  accessKeyId: 'the id of an access key',
  itemsMax: 'a whole number from 1 to 500',
  intervalMs: 'a whole number of milliseconds',
  repeatAfterMs: 'a whole number of milliseconds',
}

function isValid(field: string, value: unknown): boolean {
  switch (field) {
    case 'name':
      return typeof value === 'string' && NAME.test(value)
    case 'kind':
      return true
    case 'url':
      return isAddress(value, true)
    case 'sites':
      return Array.isArray(value) && value.length > 0 && value.every(site => isAddress(site, false))
    case 'bans':
    case 'tags':
      return typeof value === 'boolean'
    case 'itemsMax':
      return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= 500
    case 'intervalMs':
    case 'repeatAfterMs':
      return Number.isSafeInteger(value) && (value as number) >= 0
    case 'secret':
    case 'sessionToken':
      return typeof value === 'string' && SECRET.test(value)
    default:
      return typeof value === 'string' && CODE.test(value)
  }
}

/** APIs may be below a path; caches may not. */
function isAddress(value: unknown, mayHavePath: boolean): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password, pathname, search, hash } = new URL(value)
  const isPlain = username === '' && password === '' && search === '' && hash === ''
  return /^https?:$/.test(protocol) && isPlain && (mayHavePath || pathname === '/')
}
