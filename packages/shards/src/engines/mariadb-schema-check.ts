/**
 * A schema change in MariaDB commits by itself and cannot be undone. So it is tried on a temporary table with the columns and
 * indexes of the real one, no rows, and the same name, which hides the real table in its session.
 */
import { globalRefused, quoteName } from '../plan/index.js'
import type { Session } from './session-pool.js'

/** What a temporary table does not support although the real one may. */
const UNTRIED =
  /\b(?:foreign|references|constraint|partition|partitioning|tablespace|algorithm|lock|online|versioning|period|if)\b/i
const NO_SUCH_TABLE = 1146
const COPY = 'freshet_rehearsal'

export async function checkSchemaChange(session: Session, text: string, tables: readonly string[]): Promise<void> {
  await session.run('SET @freshet_statement = ?', [text])
  await session.run('PREPARE freshet_check FROM @freshet_statement')
  await session.run('DEALLOCATE PREPARE freshet_check')
  const [table] = tables
  if (table === undefined || UNTRIED.test(text)) return
  if (/^create\s+table\b/i.test(text)) return checkMissing(session, table)
  const name = quoteName(table, 'mariadb')
  if (!(await copyTable(session, name))) return
  try {
    await session.run(text)
  } finally {
    await session.run(`DROP TEMPORARY TABLE IF EXISTS ${name}`)
  }
}

async function checkMissing(session: Session, table: string): Promise<void> {
  const text = 'SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?'
  const { rows } = await session.run(text, [table])
  if (rows.length > 0) throw globalRefused(`there is a table ${table} already`)
}

/** False if such a copy is impossible: the user may not create one, or the table is of a kind that cannot be copied. */
async function copyTable(session: Session, name: string): Promise<boolean> {
  try {
    await session.run(`CREATE TEMPORARY TABLE ${COPY} LIKE ${name}`)
  } catch (error) {
    const { errno } = error as { readonly errno?: number }
    if (errno === undefined || errno === NO_SUCH_TABLE) throw error
    return false
  }
  await session.run(`ALTER TABLE ${COPY} RENAME TO ${name}`)
  return true
}
