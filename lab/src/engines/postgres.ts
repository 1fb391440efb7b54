/** For experiments with PostgreSQL, which `@freshet/engines/under-test/start-postgres` starts. */
import { isPostgresInstalled } from '@freshet/engines/under-test/start-postgres'
import { UsageError } from '../harness/usage-error.js'

export function requirePostgres(): void {
  if (isPostgresInstalled()) return
  throw new UsageError('This experiment needs postgresql. Install what is missing: sudo apt-get install postgresql')
}
