/** Builders for the operations of an OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>

export function ref(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}

export function json(schema: string): Json {
  return { 'application/json': { schema: ref('schemas', schema) } }
}

export function eitherOf(...schemas: readonly string[]): Json {
  return { 'application/json': { schema: { oneOf: schemas.map(name => ref('schemas', name)) } } }
}

/** A schema. */
export function object(properties: Json, required: readonly string[] = Object.keys(properties)): Json {
  return { type: 'object', properties, required }
}

export function list(items: Json): Json {
  return { type: 'array', items }
}

export function queryParameter(name: string, schema: Json, description: string, isFlag = false): Json {
  return { name, in: 'query', schema, description, ...(isFlag ? { allowEmptyValue: true } : {}) }
}

export interface OperationText {
  readonly id: string
  readonly summary: string
  readonly parameters?: readonly string[]
  readonly body?: Json
  readonly responses: Json
}

export function operation({ id, summary, parameters = [], body, responses }: OperationText): Json {
  return {
    operationId: id,
    summary,
    ...(parameters.length > 0 ? { parameters: parameters.map(name => ref('parameters', name)) } : {}),
    ...(body ? { requestBody: { required: true, content: body } } : {}),
    responses: { ...responses, default: ref('responses', 'Problem') },
  }
}

export function answers(description: string, content: Json, headers: Json = {}): Json {
  return { 200: { description, ...(Object.keys(headers).length > 0 ? { headers } : {}), content } }
}

export const ANY_VALUE: Json = {
  // An object, a counter, or JSON in a kv bucket.
  'application/json': { schema: {} },
  '*/*': { schema: { type: 'string', format: 'binary' } },
}
export const ANY_JSON: Json = { 'application/json': { schema: { type: 'object' } } }
