/** The schemas within a schema. The contents of `const`, `enum`, `default` and `examples` are data, and are ignored. */
import type { JsonSchema } from '@freshet/protocol'

/** Keywords with a schema under each name, with a list of schemas, and with one schema. */
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const LISTED = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const SINGLE = [
  ...['items', 'contains', 'unevaluatedItems', 'additionalProperties', 'propertyNames', 'unevaluatedProperties'],
  ...['not', 'if', 'then', 'else', 'contentSchema'],
]

/** The schema and all schemas within it. It need not be valid. */
export function* subschemas(schema: unknown): Generator<JsonSchema, void, undefined> {
  if (!isObject(schema)) return
  yield schema
  for (const keyword of NAMED) {
    const named = schema[keyword]
    if (isObject(named)) for (const inner of Object.values(named)) yield* subschemas(inner)
  }
  for (const keyword of LISTED) {
    const listed = schema[keyword]
    if (Array.isArray(listed)) for (const inner of listed) yield* subschemas(inner)
  }
  for (const keyword of SINGLE) yield* subschemas(schema[keyword])
}

export function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
