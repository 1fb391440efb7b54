/** Where a transaction's own objects belong in the pages of a list or a query: which of them match, and in which order. */
import { cursorAt, matches, type Order, orderOf, startOf } from '@freshet/core/queries'
import { type IdRange, isWithin, type Place, type Query } from '@freshet/protocol'
import type { Seen } from './transaction-state.js'

export interface PageOrder {
  readonly order: Order
  isFound(object: Seen): boolean
  /** The cursor that continues after it, in the server's format. */
  cursorAt(object: Seen): string
  /** Throws QUERY_INVALID for a cursor that the server has sealed. */
  placeAt(cursor: string): Place
}

export function listOrder(range: IdRange): PageOrder {
  return {
    order: orderOf({}),
    isFound: ({ id }) => isWithin(id, range),
    cursorAt: ({ id }) => id,
    placeAt: id => ({ values: [], id }),
  }
}

export function queryOrder(query: Query): PageOrder {
  const order = orderOf(query)
  return {
    order,
    isFound: object => matches(query.where, object),
    cursorAt: object => cursorAt(order, object),
    placeAt: after => startOf({ after }, order)!,
  }
}
