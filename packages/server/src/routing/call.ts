/** A request that has found its route: what a handler is given, and what it may answer. */
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
  /** Undefined where everybody may do everything. */
  readonly caller: Caller | undefined
}

/** Before it is known who calls. */
export type RoutedCall = Omit<Call, 'caller'>

/** Undefined if the handler has answered, or will answer, by itself. */
export type Handler = (call: Call) => MaybePromise<Answer | undefined>

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

export interface RouteMethod extends Admission {
  readonly handle: Handler
  /** The names of the query parameters it takes. */
  readonly parameters?: readonly string[]
  /** Whether requests may have a body; others are refused if they do. */
  readonly takesBody?: boolean
}

export interface Route {
  /** As OpenAPI writes it. */
  readonly pattern: string
  /** HEAD comes with GET, OPTIONS with everything. */
  readonly methods: Readonly<Partial<Record<Method, RouteMethod>>>
  /** The last name stands for any number of segments. */
  readonly isOpenEnded?: boolean
  /** A page that people write with a slash at its end as well: they are sent on. */
  readonly isPage?: boolean
}
