/** The details of SCHEMA_VIOLATED and SCHEMA_MISFIT: where objects violate a schema. */
import { FreshetError, type SchemaViolation } from '@freshet/protocol'

/**
 * Where objects violate a schema, for SCHEMA_VIOLATED and SCHEMA_MISFIT; empty for any other error.
 *
 * @example
 * import { violationsOf } from '@freshet/client'
 *
 * const products = db.bucket('shop/products')
 * await products.configure({ schema: { properties: { price: { type: 'number', minimum: 0 } } } })
 * try {
 *   await products.put('jug', { name: 'Jug', price: -1 })
 * } catch (error) {
 *   console.log(violationsOf(error).map(({ at, expected }) => `${at}: ${expected}`)) // [ '/price: >= 0' ]
 * }
 */
export function violationsOf(error: unknown): readonly SchemaViolation[] {
  const violations = error instanceof FreshetError ? error.details.violations : undefined
  return Array.isArray(violations) ? (violations as readonly SchemaViolation[]) : []
}
