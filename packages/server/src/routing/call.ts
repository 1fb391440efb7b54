/** A request whose route is known: what a handler receives, and what it may return. */
import type { MaybePromise } from '@freshet/core/store'
import type { Admission } from '../access/access.js'
import type { Caller } from '../access/caller.js'
import type { Answer } from '../http/answer.js'
import type { Exchange } from '../http/exchange.js'
import type { Parameters } from '../http/request-target.js'

export interface Call {
  readonly exchange: Exchange
  /** The variable segments of the route, in order, decoded. */
  readonly names: readonly string[]
  readonly parameters: Parameters
  /** Undefined: everybody may do everything. */
  readonly caller: Caller | undefined
}

/** Before the caller is identified. */
export type RoutedCall = Omit<Call, 'caller'>

/** Undefined if the handler has sent the answer itself, or will send it. */
export type Handler = (call: Call) => MaybePromise<Answer | undefined>

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

export interface RouteMethod extends Admission {
  readonly handle: Handler
  /** The names of the accepted query parameters. */
  readonly parameters?: readonly string[]
  /** Whether requests may have a body. If not, requests with a body are refused. */
  readonly takesBody?: boolean
}

export interface Route {
  /** As OpenAPI writes it. */
  readonly pattern: string
  /** GET includes HEAD, and every route has OPTIONS. */
  readonly methods: Readonly<Partial<Record<Method, RouteMethod>>>
  /** The last name matches any number of segments. */
  readonly isOpenEnded?: boolean
  /** A page whose address people also write with a slash at the end, which is redirected. */
  readonly isPage?: boolean
}
