/**
 * JSON Schema as a TypeScript type. Rules that TypeScript types cannot express (ranges, patterns, conditions) are left to the
 * server; keywords that are not understood become `unknown`. If an object may have more fields than its schema lists, its type
 * still has only those: otherwise the compiler would find no misspelt field.
 */
import type { JsonSchema } from '@freshet/protocol'

export interface TypeScope {
  /** The name of the type that `$ref` points to; undefined if it points outside the schema. */
  named(reference: string): string | undefined
}

const PLAIN = new Map([
  ['string', 'string'],
  ['number', 'number'],
  ['integer', 'number'],
  ['boolean', 'boolean'],
  ['null', 'null'],
])
const NAME = /^[A-Za-z_$][\w$]*$/

export function typeText(schema: unknown, scope: TypeScope, indent = ''): string {
  if (schema === false) return 'never'
  if (!isSchema(schema)) return 'unknown'
  const parts = [
    ...(typeof schema.$ref === 'string' ? [scope.named(schema.$ref) ?? 'unknown'] : []),
    ...ownParts(schema, scope, indent),
    ...listOf(schema.allOf).map(inner => typeText(inner, scope, indent)),
    ...[schema.anyOf, schema.oneOf].flatMap(alternatives => {
      return Array.isArray(alternatives) ? [union(alternatives.map(inner => typeText(inner, scope, indent)))] : []
    }),
  ].filter(part => part !== 'unknown')
  return intersection(parts)
}

/** Whether the schema is printed as just `{ ... }`: an interface. */
export function isFieldList(schema: JsonSchema): boolean {
  const others = ['$ref', 'allOf', 'anyOf', 'oneOf', 'enum', 'const']
  return (
    others.every(keyword => schema[keyword] === undefined) && typesOf(schema).join() === 'object' && hasFields(schema)
  )
}

/** The comment before a field or a type: its description. */
export function commentText({ description, deprecated }: JsonSchema, indent: string): string {
  const text = typeof description === 'string' ? description.replaceAll('*/', '*\\/').trim().split(/\r?\n/) : []
  const lines = [...text, ...(deprecated === true ? ['@deprecated'] : [])]
  if (lines.length === 0) return ''
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map(line => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

function ownParts(schema: JsonSchema, scope: TypeScope, indent: string): string[] {
  if (schema.const !== undefined) return [literal(schema.const)]
  if (Array.isArray(schema.enum)) return [union(schema.enum.map(literal))]
  const types = typesOf(schema)
  return types.length === 0 ? [] : [union(types.map(type => oneType(type, schema, scope, indent)))]
}

/** The types that the schema names, or that its keywords imply. */
function typesOf(schema: JsonSchema): readonly unknown[] {
  if (schema.type !== undefined) return listOf(schema.type)
  if (hasFields(schema)) return ['object']
  if (schema.items !== undefined || schema.prefixItems !== undefined) return ['array']
  return schema['x-reference'] === undefined ? [] : ['string']
}

function hasFields({ properties, required }: JsonSchema): boolean {
  return isSchema(properties) || Array.isArray(required)
}

function oneType(type: unknown, schema: JsonSchema, scope: TypeScope, indent: string): string {
  if (type === 'object') return objectText(schema, scope, indent)
  if (type === 'array') return arrayText(schema, scope, indent)
  const bucket = referencedBucket(schema['x-reference'])
  if (type === 'string' && bucket !== undefined) return `Reference<${JSON.stringify(bucket)}>`
  return PLAIN.get(String(type)) ?? 'unknown'
}

function objectText(schema: JsonSchema, scope: TypeScope, indent: string): string {
  const { properties, required, additionalProperties } = schema
  if (!hasFields(schema)) {
    if (additionalProperties === false) return 'Record<string, never>'
    return `Record<string, ${isSchema(additionalProperties) ? typeText(additionalProperties, scope, indent) : 'unknown'}>`
  }
  const inner = `${indent}  `
  const needed = new Set(listOf(required).map(String))
  const known = isSchema(properties) ? properties : {}
  const names = [...new Set([...Object.keys(known), ...needed])].sort()
  const fields = names.map(name => {
    const field = known[name]
    const key = NAME.test(name) ? name : JSON.stringify(name)
    const comment = isSchema(field) ? commentText(field, inner) : ''
    return `${comment}${inner}${key}${needed.has(name) ? '' : '?'}: ${typeText(field, scope, inner)}\n`
  })
  // Unlisted fields have another type than listed ones, which an index signature cannot express.
  const others = isSchema(additionalProperties) ? `${inner}[name: string]: unknown\n` : ''
  return `{\n${fields.join('')}${others}${indent}}`
}

function arrayText({ items, prefixItems, minItems }: JsonSchema, scope: TypeScope, indent: string): string {
  const each = items === undefined ? 'unknown' : typeText(items, scope, indent)
  if (!Array.isArray(prefixItems)) return `${bracketed(each)}[]`
  const least = typeof minItems === 'number' ? minItems : 0
  const first = prefixItems.map((item, i) => `${bracketed(typeText(item, scope, indent))}${i < least ? '' : '?'}`)
  return `[${[...first, ...(items === false ? [] : [`...${bracketed(each)}[]`])].join(', ')}]`
}

function referencedBucket(value: unknown): string | undefined {
  const bucket = isSchema(value) ? value.bucket : value
  return typeof bucket === 'string' ? bucket : undefined
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (!isSchema(value)) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${literal(inner)}`)
  return fields.length === 0 ? 'Record<string, never>' : `{ ${fields.join('; ')} }`
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  if (distinct.length === 0) return 'never'
  if (distinct.includes('unknown')) return 'unknown'
  return distinct.map(type => (distinct.length > 1 && type.includes(' & ') ? `(${type})` : type)).join(' | ')
}

function intersection(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  if (distinct.length === 0) return 'unknown'
  return distinct.map(type => (distinct.length > 1 && type.includes(' | ') ? `(${type})` : type)).join(' & ')
}

function bracketed(type: string): string {
  return / [|&] /.test(type) ? `(${type})` : type
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
