/**
 * The file that `freshet gen` writes: a type for each bucket of objects, and one map of all buckets: `number` stands for counters,
 * `Uint8Array` for bytes. The same schemas give the same file.
 */
import type { BucketSettings, JsonSchema } from '@freshet/protocol'
import { commentText, isFieldList, isSchema, type TypeScope, typeText } from './type-text.js'

export interface TypedBucket {
  /** As `shop/products`. */
  readonly name: string
  /** By default it holds objects. */
  readonly kind?: BucketSettings['kind']
  readonly schema?: JsonSchema
}

const HEAD = `// Written by freshet gen, from the schemas of a server. Changes are lost when it is run again.

/** The id of an object of another bucket. */
export type Reference<Bucket extends string> = string & { readonly ' bucket'?: Bucket }
`

export function printTypes(buckets: readonly TypedBucket[]): string {
  const sorted = [...buckets].sort((one, other) => (one.name < other.name ? -1 : 1))
  const typeNames = new TypeNames()
  const types = namedTypes(sorted, typeNames)
  const printed = sorted.flatMap(({ name, schema }) =>
    schema === undefined ? [] : printSchema(types.get(name)!, schema, typeNames),
  )
  const entries = sorted.map(bucket => `  ${JSON.stringify(bucket.name)}: ${contentsOf(bucket, types)}\n`)
  const map = `/** What is in each bucket: connect<Buckets>(url). */\nexport interface Buckets {\n${entries.join('')}}\n`
  return [HEAD, ...printed, map].join('\n')
}

/** The names of the types of objects, by bucket. */
function namedTypes(sorted: readonly TypedBucket[], names: TypeNames): ReadonlyMap<string, string> {
  const buckets = sorted.filter(({ kind = 'object' }) => kind === 'object').map(({ name }) => name)
  const wanted = buckets.map(name => pascal(name.slice(name.indexOf('/') + 1)))
  return new Map(
    buckets.map((name, i) => {
      const isShared = wanted.filter(other => other === wanted[i]).length > 1
      return [name, names.take(isShared ? pascal(name) : wanted[i]!)]
    }),
  )
}

function contentsOf({ name, kind, schema }: TypedBucket, types: ReadonlyMap<string, string>): string {
  if (kind === 'counter') return 'number'
  if (kind === 'kv') return 'Uint8Array'
  return schema === undefined ? 'Record<string, unknown>' : types.get(name)!
}

/** The type of a bucket, and those that it refers to within its schema. */
function printSchema(type: string, schema: JsonSchema, names: TypeNames): string[] {
  const parts = ['$defs', 'definitions'].flatMap(keyword => {
    const named = schema[keyword]
    if (!isSchema(named)) return []
    return Object.keys(named)
      .sort()
      .map(name => ({
        reference: `#/${keyword}/${pointerPart(name)}`,
        schema: named[name],
        type: names.take(type + pascal(name)),
      }))
  })
  const known = new Map([['#', type], ...parts.map(part => [part.reference, part.type] as const)])
  const scope: TypeScope = { named: reference => known.get(decodeURIComponent(reference)) }
  return [printOne(type, schema, scope), ...parts.map(part => printOne(part.type, part.schema, scope))]
}

function printOne(type: string, schema: unknown, scope: TypeScope): string {
  const text = typeText(schema, scope)
  const comment = isSchema(schema) ? commentText(schema, '') : ''
  if (isSchema(schema) && isFieldList(schema)) return `${comment}export interface ${type} ${text}\n`
  return `${comment}export type ${type} = ${text === 'unknown' ? 'Record<string, unknown>' : text}\n`
}

/** Gives each type a name of its own, different from those that the file defines itself. */
class TypeNames {
  readonly #taken = new Set(['Buckets', 'Reference', 'Record', 'Uint8Array'])

  take(name: string): string {
    let free = name
    for (let i = 2; this.#taken.has(free); i++) free = `${name}${i}`
    this.#taken.add(free)
    return free
  }
}

function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** `line-items` becomes LineItems; a name that begins with a digit gets a T before it. */
function pascal(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter(word => word !== '')
  const name = words.map(word => word[0]!.toUpperCase() + word.slice(1)).join('')
  return /^[A-Za-z]/.test(name) ? name : `T${name}`
}
