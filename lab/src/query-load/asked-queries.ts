/**
 * The objects and the queries of the load. The expected result of each query is computed here a second time, in plain code that
 * shares nothing with the server. Results are judged against it.
 */
import type { QueryOptions } from '@freshet/client'
import type { Random } from '../harness/random.js'

export const BUCKET = 'load/products'
/** Each write also puts its number here, under the name of its writer, so that its outcome can be found out. */
export const MARKERS = 'load/markers'

export interface Product {
  /** Unique to the write. */
  readonly number: number
  readonly category: string
  readonly price: number
  readonly isSold: boolean
  readonly maker: { readonly name: string }
}

export interface Entry {
  readonly id: string
  readonly version: number
  readonly product: Product
}

export interface AskedQuery {
  readonly name: string
  readonly options: Pick<QueryOptions<Product>, 'where' | 'sort' | 'limit'>
  matches(product: Product): boolean
  /** Undefined: by id. */
  readonly compare?: (a: Entry, b: Entry) => number
  readonly limit: number
}

export const PRODUCT_IDS: readonly string[] = Array.from({ length: 60 }, (_, i) => `p${String(i).padStart(3, '0')}`)

/** The second index is dropped and declared again during the load. */
export const INDEXES = [
  { name: 'by-category', fields: ['category', 'price'] },
  { name: 'by-maker', fields: ['maker.name'] },
] as const

const CATEGORIES = ['books', 'games', 'music', 'tea', 'toys', 'wine']
const MAKERS = ['Ann', 'Anna', 'Bob', 'Cy', "O'Hara & Søn"]
const PRICE_MAX = 40
const ALL = 1000

export function productOf(number: number, random: Random): Product {
  return {
    number,
    category: random.pick(CATEGORIES),
    price: random.below(PRICE_MAX),
    isSold: random.below(4) === 0,
    maker: { name: random.pick(MAKERS) },
  }
}

const byPrice = (a: Entry, b: Entry) => a.product.price - b.product.price
/** Equal entries are sorted by id, in the direction of the last field. */
const byPriceFalling = (a: Entry, b: Entry) => b.product.price - a.product.price || (a.id < b.id ? 1 : -1)

export const ASKED_QUERIES: readonly AskedQuery[] = [
  ...CATEGORIES.flatMap((category, i): AskedQuery[] => {
    const other = CATEGORIES[(i + 1) % CATEGORIES.length]!
    return [
      {
        name: 'equal',
        options: { where: { category }, limit: ALL },
        matches: product => product.category === category,
        limit: ALL,
      },
      {
        name: 'any of two',
        options: { where: { category: { $in: [category, other] } }, limit: ALL },
        matches: product => product.category === category || product.category === other,
        limit: ALL,
      },
      {
        name: 'range, sorted, cut',
        options: { where: { category, price: { $gte: 5, $lt: 30 } }, sort: 'price', limit: 5 },
        matches: ({ category: own, price }) => own === category && price >= 5 && price < 30,
        compare: byPrice,
        limit: 5,
      },
      {
        name: 'equal in two fields',
        options: { where: { category, price: i }, limit: ALL },
        matches: product => product.category === category && product.price === i,
        limit: ALL,
      },
    ]
  }),
  ...MAKERS.map((name): AskedQuery => {
    return {
      name: 'by a nested field',
      options: { where: { 'maker.name': name }, limit: ALL },
      matches: ({ maker }) => maker.name === name,
      limit: ALL,
    }
  }),
  {
    name: 'the most expensive',
    options: { sort: '-price', limit: 10 },
    matches: () => true,
    compare: byPriceFalling,
    limit: 10,
  },
  {
    name: 'one or the other',
    options: {
      where: { $or: [{ isSold: true, price: { $lt: 8 } }, { 'maker.name': { $prefix: 'Ann' } }] },
      limit: ALL,
    },
    matches: ({ isSold, price, maker }) => (isSold && price < 8) || maker.name.startsWith('Ann'),
    limit: ALL,
  },
  { name: 'whole bucket', options: { sort: '$id', limit: ALL }, matches: () => true, limit: ALL },
]

/** The result over these entries, which are sorted by id, as the digest used for comparison. */
export function resultOf({ matches, compare, limit }: AskedQuery, entries: readonly Entry[]): string {
  const found = entries.filter(({ product }) => matches(product))
  // A stable sort: equal entries stay in the order of ids.
  if (compare) found.sort(compare)
  return digestOf(found.slice(0, limit).map(({ id, version, product }) => ({ id, version, number: product.number })))
}

export function digestOf(
  items: readonly { readonly id: string; readonly version: number; readonly number: number }[],
): string {
  let text = ''
  for (const { id, version, number } of items) text += `${id}@${version}#${number} `
  return text
}
