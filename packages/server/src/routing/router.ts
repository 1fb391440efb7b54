/**
 * Leads a request to the handler of its route, or refuses it. GET and HEAD requests whose URL is not canonical are redirected.
 * Other methods are refused: a cache would not see that such a write changes its copy.
 */
import { FreshetError } from '@freshet/protocol'
import { type Answer, redirectAnswer } from '../http/answer.js'
import type { Cors } from '../http/cors.js'
import type { Exchange } from '../http/exchange.js'
import { refuseBody } from '../http/request-body.js'
import { parseQuery, parseTarget, type Target } from '../http/request-target.js'
import { overLimit } from '../settings/limits.js'
import type { Method, Route, RoutedCall, RouteMethod } from './call.js'

interface CompiledRoute {
  readonly route: Route
  /** A literal, or undefined for a name. */
  readonly parts: readonly (string | undefined)[]
  readonly allow: readonly string[]
}

const HOST = /^(?:[A-Za-z0-9._~%!$&'()*+,;=-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/

export type Routed =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'call'; readonly call: RoutedCall; readonly routeMethod: RouteMethod }

export class Router {
  readonly #routes: readonly CompiledRoute[]
  /** Pages, by their address with a slash at the end. */
  readonly #pages: ReadonlyMap<string, string>
  readonly #cors: Cors
  readonly #urlBytesMax: number

  constructor(routes: readonly Route[], cors: Cors, urlBytesMax: number) {
    this.#routes = routes.map(compile)
    this.#pages = new Map(routes.filter(({ isPage }) => isPage).map(({ pattern }) => [`${pattern}/`, pattern]))
    this.#cors = cors
    this.#urlBytesMax = urlBytesMax
  }

  /** Whether the host and the length of the URL are valid; otherwise `route` refuses the request. */
  takes(url: string, host: string): boolean {
    return url.length <= this.#urlBytesMax && HOST.test(host)
  }

  /** Throws the refusal. */
  route(exchange: Exchange): Routed {
    const { request, method } = exchange
    const raw = request.url ?? '/'
    if (raw.length > this.#urlBytesMax) throw tooLong(raw.length, this.#urlBytesMax)
    checkHeaders(exchange)
    if (method === 'OPTIONS' && raw === '*')
      return { kind: 'answer', answer: this.#cors.preflight(['GET', 'HEAD', 'OPTIONS']) }
    const page = this.#pages.get(raw)
    if (page !== undefined) return sendOn(exchange, page)
    const target = parseTarget(raw, request.headers.host ?? '')
    const { route, parts, allow } = this.#find(target)
    exchange.route = route.pattern
    if (method === 'OPTIONS') return this.#preflight(exchange, allow)
    const routeMethod = methodOf(route, method)
    if (routeMethod === undefined) throw notAllowed(method, allow)
    if (!routeMethod.takesBody) refuseBody(request)
    return this.#canonical(exchange, target, parts, routeMethod)
  }

  #preflight(exchange: Exchange, allow: readonly string[]): Routed {
    refuseBody(exchange.request)
    return { kind: 'answer', answer: this.#cors.preflight(allow) }
  }

  #canonical(exchange: Exchange, target: Target, parts: CompiledRoute['parts'], routeMethod: RouteMethod): Routed {
    const { parameters, canonical } = parseQuery(target.query, routeMethod.parameters ?? [])
    const isCanonical =
      target.path === target.rawPath && canonical === (target.query === undefined ? '' : `?${target.query}`)
    if (!isCanonical) return redirect(exchange.method, target.path + canonical)
    const names = target.segments.filter((_, i) => i >= parts.length || parts[i] === undefined)
    return { kind: 'call', routeMethod, call: { exchange, names, parameters } }
  }

  #find({ segments, rawPath }: Target): CompiledRoute {
    const found = this.#routes.find(({ route, parts }) => matches(parts, segments, route.isOpenEnded ?? false))
    if (found) return found
    throw new FreshetError('ROUTE_UNKNOWN', `There is nothing at ${rawPath.slice(0, 80)}. GET / lists the resources.`)
  }
}

function compile(route: Route): CompiledRoute {
  const parts = route.pattern
    .split('/')
    .filter(part => part !== '')
    .map(part => (part.startsWith('{') ? undefined : part))
  const methods = Object.keys(route.methods)
  return {
    route,
    parts,
    allow: [...methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'],
  }
}

function matches(parts: CompiledRoute['parts'], segments: readonly string[], isOpenEnded: boolean): boolean {
  if (isOpenEnded ? segments.length < parts.length : segments.length !== parts.length) return false
  return parts.every((part, i) => part === undefined || part === segments[i])
}

function methodOf(route: Route, method: string): RouteMethod | undefined {
  const name = method === 'HEAD' ? 'GET' : method
  return Object.hasOwn(route.methods, name) ? route.methods[name as Method] : undefined
}

function checkHeaders({ request: { headers, rawHeaders, httpVersionMinor } }: Exchange): void {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host')
  if (hosts.length > 1 || (hosts.length === 0 && httpVersionMinor > 0) || !HOST.test(headers.host ?? '')) {
    throw new FreshetError('HEADER_INVALID', 'A request needs one Host header that names a host.')
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new FreshetError('HEADER_INVALID', 'The only supported expectation is 100-continue.')
  }
}

function sendOn(exchange: Exchange, page: string): Routed {
  exchange.route = page
  refuseBody(exchange.request)
  return redirect(exchange.method, page)
}

function redirect(method: string, canonical: string): Routed {
  if (method !== 'GET' && method !== 'HEAD') {
    throw new FreshetError('URL_INVALID', `Use the canonical spelling of this URL: ${canonical}`, {
      details: { canonical },
    })
  }
  return { kind: 'answer', answer: redirectAnswer(canonical) }
}

function notAllowed(method: string, allow: readonly string[]): FreshetError {
  return new FreshetError('METHOD_NOT_ALLOWED', `${method} is not allowed here, only ${allow.join(', ')}.`, {
    details: { allow },
  })
}

function tooLong(bytes: number, urlBytesMax: number): FreshetError {
  return overLimit({
    code: 'URL_TOO_LONG',
    limit: 'urlBytesMax',
    what: `The URL has ${bytes} bytes, more than the ${urlBytesMax} bytes that this server accepts.`,
    instead: 'Ask for fewer ids at once, shorten the query',
    details: { urlBytesMax, bytes },
  })
}
