/** A request that has found its route: what a handler is given, and what it may answer. */
import type { MaybePromise } from '@freshet/core/store'
import type { Right } from '../access/rules/rights.js'
import type { Answer } from './answer.js'
import type { Exchange } from './exchange.js'
import type { Parameters } from './request-target.js'

export interface Call {
  readonly exchange: Exchange
  /** The variable segments of the route, in order, decoded. */
  readonly names: readonly string[]
  readonly parameters: Parameters
}

/** Undefined if the handler has answered, or will answer, by itself. */
export type Handler = (call: Call) => MaybePromise<Answer | undefined>

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/**
 * Who may ask for it where there are rules. `rules`: its handler asks the caller (`access/caller.ts`) about each bucket and object.
 */
export type AccessNeed = 'anyone' | 'rules' | 'metrics' | 'admin'

export interface Operation {
  /** Without it, nobody may; a test wants one of every operation. */
  readonly access?: AccessNeed
  /**
   * With `rules`: a caller who could not have any of these, on what the path names or else anywhere, is refused before the body is read and
   * before anything is looked up.
   */
  readonly rights?: readonly Right[]
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
  readonly operations: Readonly<Partial<Record<Method, Operation>>>
  /** The last name stands for any number of segments. */
  readonly isOpenEnded?: boolean
  /** A page that people write with a slash at its end as well: they are sent on. */
  readonly isPage?: boolean
}
