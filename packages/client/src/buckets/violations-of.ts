/** The details of SCHEMA_VIOLATED and SCHEMA_MISFIT: where objects violate a schema. */
import { FreshetError, type SchemaViolation } from '@freshet/protocol'

/** Where objects violate a schema, for SCHEMA_VIOLATED and SCHEMA_MISFIT; empty for any other error. */
export function violationsOf(error: unknown): readonly SchemaViolation[] {
  const violations = error instanceof FreshetError ? error.details.violations : undefined
  return Array.isArray(violations) ? (violations as readonly SchemaViolation[]) : []
}
