/** What the database reports about a table that is to become a bucket. */
import type pg from 'pg'
import type { TableColumn, TableDescription } from '../../sql/tables/exposed-table.js'
import { unsuitable } from '../../sql/tables/table-errors.js'

const KEY_TYPES = ['smallint', 'integer', 'bigint', 'text', 'character varying', 'uuid', 'date']

const TABLE = `
  SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relkind IN ('r', 'p') AS "isTable",
    (SELECT array_agg(a.attname::text ORDER BY array_position(i.indkey::int2[], a.attnum)) FROM pg_index i
     JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
     WHERE i.indrelid = c.oid AND i.indisprimary) AS key
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1::regclass`
const COLUMNS = `
  SELECT a.attname::text AS name, format_type(a.atttypid, NULL) AS type,
    format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL) AS "baseType",
    CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END AS "defaultValue",
    a.attgenerated <> '' OR a.attidentity <> '' AS "isGenerated",
    coalesce(l.collisdeterministic, true) AS "isExact"
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  LEFT JOIN pg_collation l ON l.oid = a.attcollation
  WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

interface ColumnRow extends Omit<TableColumn, 'defaultValue'> {
  readonly defaultValue: string | null
  readonly isExact: boolean
}

/** Throws CONFIG_INVALID if it cannot be a bucket. `asked`: the columns, if not all. */
export async function describeTable(
  client: pg.ClientBase,
  table: string,
  asked?: readonly string[],
): Promise<TableDescription> {
  const found = await client.query(TABLE, [table]).catch(cause => {
    throw unsuitable(table, 'there is no table by that name. Write schema.table', cause)
  })
  const { oid, schema, name, isTable, key } = found.rows[0]
  if (!isTable) throw unsuitable(table, 'it is not a table')
  if (key === null) throw unsuitable(table, 'it has no primary key to identify its rows. Add one')
  const { rows } = await client.query<ColumnRow>(COLUMNS, [oid])
  const missing = asked?.find(column => !rows.some(row => row.name === column))
  if (missing !== undefined) throw unsuitable(table, `it has no column ${missing}`)
  for (const row of rows.filter(row => key.includes(row.name))) {
    if (!KEY_TYPES.includes(row.baseType))
      throw unsuitable(table, `its key ${row.name} is ${row.type}, not one of ${KEY_TYPES.join(', ')}`)
    if (!row.isExact) throw unsuitable(table, `its key ${row.name} has a collation in which different texts are equal`)
  }
  const columns = rows.filter(row => asked === undefined || asked.includes(row.name) || key.includes(row.name))
  return { schema, name, key, columns: columns.map(toColumn), ...(asked !== undefined && { asked }) }
}

function toColumn({ name, type, baseType, defaultValue, isGenerated }: ColumnRow): TableColumn {
  return { name, type, baseType, isGenerated, ...(defaultValue !== null && { defaultValue }) }
}
