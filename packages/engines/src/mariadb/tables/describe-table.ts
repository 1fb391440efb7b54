/** What the database reports about a table that is to become a bucket. */
import type { Connection } from 'mariadb'
import type { TableColumn, TableDescription, TableName } from '../../sql/tables/exposed-table.js'
import { unsuitable } from '../../sql/tables/table-errors.js'
import type { Row } from '../mariadb-connection.js'
import type { StorePlace } from './table-statements.js'

/** The kind of a column, by its type; a column of any other type cannot be part of a bucket. */
const KINDS: Readonly<Record<string, string>> = {
  ...kinds('integer', ['tinyint', 'smallint', 'mediumint', 'int', 'bigint', 'year']),
  ...kinds('text', ['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext']),
  ...kinds('bytes', ['binary', 'varbinary', 'tinyblob', 'blob', 'mediumblob', 'longblob']),
  ...kinds('other', ['enum', 'set', 'time', 'inet4', 'inet6']),
  ...Object.fromEntries(
    ['decimal', 'float', 'double', 'bit', 'timestamp', 'datetime', 'date', 'uuid'].map(each => [each, each]),
  ),
}
const KEY_KINDS = ['integer', 'unsigned', 'text', 'date', 'uuid']
const KEY_TYPES = 'tinyint, smallint, mediumint, int, bigint, char, varchar, date, uuid'

const TABLE = 'SELECT table_schema, table_name, table_type, engine FROM information_schema.tables'
const COLUMNS = `
  SELECT c.column_name, c.data_type, c.column_type, c.is_generated = 'ALWAYS' OR c.extra LIKE '%GENERATED%', c.character_set_name, c.collation_name,
    EXISTS (SELECT 1 FROM information_schema.check_constraints k WHERE k.constraint_schema = c.table_schema AND
      k.table_name = c.table_name AND k.check_clause = CONCAT('json_valid(\`', c.column_name, '\`)'))
  FROM information_schema.columns c WHERE c.table_schema = ? AND c.table_name = ? ORDER BY c.ordinal_position`
const KEY = `
  SELECT column_name, sub_part FROM information_schema.statistics
  WHERE table_schema = ? AND table_name = ? AND index_name = 'PRIMARY' ORDER BY seq_in_index`
/** What InnoDB does by itself, without firing triggers. */
const ACTIONS = `
  SELECT constraint_name, referenced_table_name, delete_rule, update_rule FROM information_schema.referential_constraints
  WHERE constraint_schema = ? AND table_name = ? AND
    (delete_rule NOT IN ('RESTRICT', 'NO ACTION') OR update_rule NOT IN ('RESTRICT', 'NO ACTION'))`

/**
 * A `name` without a database is in the store's. Throws CONFIG_INVALID if the table cannot be a bucket. `asked`: the columns,
 * if not all.
 */
export async function describeTable(
  connection: Connection,
  name: string,
  asked?: readonly string[],
  store?: StorePlace,
): Promise<TableDescription> {
  const found = await findTable(connection, name)
  if (store && found.schema === store.database && found.name.startsWith(store.prefix)) {
    throw unsuitable(name, 'it belongs to the store itself')
  }
  const where = [found.schema, found.name]
  const keys: [string, number | null][] = await connection.query(KEY, where)
  if (keys.length === 0) throw unsuitable(name, 'it has no primary key to identify its rows. Add one')
  const part = keys.find(([, length]) => length !== null)
  if (part) throw unsuitable(name, `only the beginning of ${part[0]} is in its primary key`)
  const key = keys.map(([column]) => column)
  const rows: Row[] = await connection.query(COLUMNS, where)
  const missing = asked?.find(column => !rows.some(([each]) => each === column))
  if (missing !== undefined) throw unsuitable(name, `it has no column ${missing}`)
  const wanted = rows.filter(([column]) => !asked || asked.includes(column as string) || key.includes(column as string))
  const columns = wanted.map(row => toColumn(name, row))
  for (const { name: column, type, baseType } of columns.filter(each => key.includes(each.name))) {
    if (!KEY_KINDS.includes(baseType) || type.startsWith('year'))
      throw unsuitable(name, `its key ${column} is ${type}, not one of ${KEY_TYPES}`)
  }
  await checkActions(connection, name, where)
  return { ...found, key, columns, ...(asked !== undefined && { asked }) }
}

async function findTable(connection: Connection, name: string): Promise<TableName> {
  const dot = name.indexOf('.')
  const where = dot < 0 ? 'table_schema = DATABASE() AND table_name = ?' : 'table_schema = ? AND table_name = ?'
  const values = dot < 0 ? [name] : [name.slice(0, dot), name.slice(dot + 1)]
  const [row] = await connection.query(`${TABLE} WHERE ${where}`, values)
  if (row === undefined) throw unsuitable(name, 'there is no table by that name. Write database.table')
  const [schema, table, type, engine] = row
  if (type !== 'BASE TABLE') throw unsuitable(name, `it is not a table, but a ${String(type).toLowerCase()}`)
  if (engine !== 'InnoDB')
    throw unsuitable(name, `its engine is ${engine}, which has no transactions. Convert it to InnoDB`)
  return { schema, name: table }
}

function toColumn(table: string, [name, dataType, type, isGenerated, charset, collation, isJson]: Row): TableColumn {
  const kind = KINDS[dataType as string]
  if (kind === undefined) {
    throw unsuitable(table, `${name} is ${type}, which cannot be a field. Name the other columns with --columns`)
  }
  const baseType = isJson === 1 ? 'json' : kind === 'integer' && /unsigned/.test(type as string) ? 'unsigned' : kind
  return {
    name: name as string,
    type: type as string,
    baseType,
    isGenerated: isGenerated === 1,
    ...(baseType === 'text' && { charset: charset as string, collation: collation as string }),
  }
}

async function checkActions(connection: Connection, name: string, where: readonly string[]): Promise<void> {
  const [action] = await connection.query(ACTIONS, where)
  if (action === undefined) return
  const [constraint, parent, onDelete, onUpdate] = action
  const rule = /RESTRICT|NO ACTION/.test(onDelete) ? `ON UPDATE ${onUpdate}` : `ON DELETE ${onDelete}`
  throw unsuitable(
    name,
    `its foreign key ${constraint} has ${rule}: InnoDB would change its rows with those of ${parent} without firing triggers. Make it RESTRICT, and let your programs make these changes`,
  )
}

function kinds(kind: string, types: readonly string[]): Record<string, string> {
  return Object.fromEntries(types.map(type => [type, kind]))
}
