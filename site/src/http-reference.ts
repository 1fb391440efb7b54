/** The page of every route, from the server's `/openapi.json`: parameters, bodies, answers, and their schemas. */
import { escapeHtml, uniqueId } from './render.js'

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly parameters: Readonly<Record<string, ApiParameter>>
    readonly responses: Readonly<Record<string, ApiResponse>>
  }
}

interface ApiOperation {
  readonly summary?: string
  readonly parameters?: readonly (ApiParameter | Ref)[]
  readonly requestBody?: { readonly content: Content }
  readonly responses?: Readonly<Record<string, ApiResponse | Ref>>
}

interface Ref {
  readonly $ref: string
}

interface ApiParameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly schema?: JsonSchema
}

interface ApiResponse {
  readonly description?: string
  readonly content?: Content
}

type Content = Readonly<Record<string, { readonly schema?: JsonSchema }>>

interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly oneOf?: readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | boolean
}

interface Route {
  readonly name: string
  readonly id: string
  readonly operation: ApiOperation
}

const METHODS = ['get', 'put', 'post', 'patch', 'delete']

export function httpReference(api: ApiDocument): string {
  const ids = new Map<string, number>()
  for (const title of ['HTTP', 'Routes']) uniqueId(title, ids)
  const routes = routesOf(api, ids)
  uniqueId('Requests and answers', ids)
  const schemas = Object.entries(api.components.schemas).map(([name, schema]) => ({
    name,
    schema,
    id: uniqueId(name, ids),
  }))
  const page = new HttpPage(api, new Map(schemas.map(({ name, id }) => [name, id])))
  return [
    '# HTTP',
    '',
    'Every route, from the `/openapi.json` of a server (OpenAPI 3.1). Any route may return a [problem](../errors.md) instead (RFC 9457), which caches never store.',
    'By hand: [transactions with curl](../guides/transactions.md), [operations that take effect once](../guides/counters-and-retries.md), [queries](../guides/queries.md).',
    '',
    ...routes.map(({ name, id, operation }) => `- [\`${name}\`](#${id}): ${operation.summary ?? ''}`),
    '',
    '## Routes',
    '',
    ...routes.map(route => page.route(route)),
    '## Requests and answers',
    '',
    ...schemas.map(({ name, schema }) => page.schema(name, schema)),
  ].join('\n')
}

function routesOf({ paths }: ApiDocument, ids: Map<string, number>): readonly Route[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => {
        const name = `${method.toUpperCase()} ${path}`
        return { name, operation, id: uniqueId(name, ids) }
      }),
  )
}

class HttpPage {
  readonly #api: ApiDocument
  /** The heading ids of schemas, by name. */
  readonly #ids: ReadonlyMap<string, string>

  constructor(api: ApiDocument, ids: ReadonlyMap<string, string>) {
    this.#api = api
    this.#ids = ids
  }

  route({ name, operation: { summary = '', parameters = [], requestBody, responses = {} } }: Route): string {
    const { components } = this.#api
    const taken = parameters.map(each => resolve(each, components.parameters))
    // All others are problems, which the page begins with.
    const answers = Object.entries(responses)
      .filter(([status]) => status !== 'default')
      .map(([status, each]) => ({
        status,
        ...resolve(each, components.responses),
      }))
    return [
      `### \`${name}\``,
      '',
      `${summary}.`,
      '',
      '<dl class="members">',
      ...taken.map(({ name: parameter, in: place, description = '' }) =>
        described(`${escapeHtml(parameter)} <small>${placeOf(place)}</small>`, description),
      ),
      ...(requestBody ? [described('body', this.#contentText(requestBody.content))] : []),
      ...answers.map(({ status, description = '', content }) =>
        described(status, `${description} ${this.#contentText(content)}`),
      ),
      '</dl>',
      '',
    ].join('\n')
  }

  schema(name: string, schema: JsonSchema): string {
    const { properties, required = [], description } = schema
    const members = Object.entries(properties ?? {}).map(([member, each]) => {
      const mark = required.includes(member) ? '' : '?'
      return described(`${escapeHtml(member)}${mark}: ${this.#typeText(each)}`, each.description ?? '')
    })
    const isPlain = properties !== undefined
    return [
      `### ${name}`,
      '',
      ...(description === undefined ? [] : [description, '']),
      ...(isPlain
        ? ['<dl class="members">', ...members, '</dl>']
        : [`<pre class="signature"><code>${this.#typeText(schema)}</code></pre>`]),
      '',
    ].join('\n')
  }

  #contentText(content: Content = {}): string {
    return Object.entries(content)
      .map(([type, { schema = {} }]) => `\`${type}\`: <code>${this.#typeText(schema)}</code>`)
      .join('; ')
  }

  /** The type in TypeScript's notation, as HTML with links. */
  #typeText(schema: JsonSchema): string {
    const { $ref, type, items, properties, additionalProperties: more } = schema
    const several = schema.oneOf ?? schema.anyOf
    if ($ref !== undefined) return this.#linkTo(nameOf($ref))
    if (schema.const !== undefined) return escapeHtml(JSON.stringify(schema.const))
    if (schema.enum) return schema.enum.map(value => escapeHtml(JSON.stringify(value))).join(' | ')
    if (several) return several.map(each => this.#typeText(each)).join(' | ')
    if (schema.allOf) return schema.allOf.map(each => this.#typeText(each)).join(' &amp; ')
    if (items) return isOneType(items) ? `${this.#typeText(items)}[]` : `(${this.#typeText(items)})[]`
    if (properties) return `{ ${this.#propertiesText(schema)} }`
    if (typeof more === 'object') return `Record&lt;string, ${this.#typeText(more)}&gt;`
    if (type === undefined) return 'any JSON'
    return [type].flat().join(' | ')
  }

  #propertiesText({ properties = {}, required = [] }: JsonSchema): string {
    return Object.entries(properties)
      .map(([name, each]) => `${escapeHtml(name)}${required.includes(name) ? '' : '?'}: ${this.#typeText(each)}`)
      .join('; ')
  }

  #linkTo(name: string): string {
    const id = this.#ids.get(name)
    return id === undefined ? name : `<a href="#${id}">${name}</a>`
  }
}

function resolve<Value extends object>(each: Value | Ref, components: Readonly<Record<string, Value>>): Value {
  if (!('$ref' in each)) return each
  const found = components[nameOf(each.$ref)]
  if (found === undefined) throw new Error(`/openapi.json refers to ${each.$ref}, which it does not contain.`)
  return found
}

function isOneType({ oneOf, anyOf, allOf, enum: values, type }: JsonSchema): boolean {
  return !oneOf && !anyOf && !allOf && !values && !Array.isArray(type)
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

function placeOf(place: string): string {
  return place === 'query' ? 'in the query' : place === 'path' ? 'in the path' : `as a ${place}`
}

function described(term: string, about: string): string {
  const text = about.trim()
  return `<dt><code>${term}</code></dt>\n${text === '' ? '<dd></dd>' : `<dd>\n\n${text}\n\n</dd>`}`
}
