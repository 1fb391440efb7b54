/** What SCHEMA_VIOLATED and SCHEMA_MISFIT tell: where objects are not as a schema says. */
import { FreshetError, type SchemaViolation } from '@freshet/protocol'

/** Where objects are not as a schema says, of a SCHEMA_VIOLATED or SCHEMA_MISFIT; none for any other error. */
export function violationsOf(error: unknown): readonly SchemaViolation[] {
  const violations = error instanceof FreshetError ? error.details.violations : undefined
  return Array.isArray(violations) ? (violations as readonly SchemaViolation[]) : []
}
