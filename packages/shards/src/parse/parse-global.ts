/**
 * From the text of a global write to the statement that every shard gets: UPDATE and DELETE of any table, each shard on its own
 * rows; INSERT into a table that all shards have; changes of schemas. A write that would have different effects on the shards, or
 * move rows between them, is refused.
 */
import {
  childrenOf,
  type Expression,
  type From,
  type GlobalWrite,
  globalRefused,
  isSameColumn,
  type ParameterValue,
  Printer,
  quoteName,
  type Select,
  type ShardMap,
  shardKeyOf,
  type TableChange,
} from '../plan/index.js'
import { checkFields, expressionOf, listOf, type Node, type SqlParser } from './parse-sql.js'

export interface ParsedWrite extends Omit<GlobalWrite, 'position'> {
  /** Not known for a schema change. */
  readonly change?: TableChange
}

type Fields = Readonly<Record<string, unknown>>

/** Throws GLOBAL_REFUSED, SQL_INVALID, SQL_REFUSED. */
export function parseGlobal(
  parser: SqlParser,
  map: ShardMap,
  text: string,
  values: readonly ParameterValue[],
): ParsedWrite {
  const schemaChange = readSchemaChange(text)
  if (schemaChange) return schemaWrite(schemaChange, map, text, values)
  const statements = parser.parse(text)
  if (statements.length !== 1) throw globalRefused(`it must be one statement, not ${statements.length}`)
  const [kind, fields] = Object.entries(statements[0]!)[0] as [string, Fields]
  const write = WRITES[kind]
  if (write === undefined)
    throw globalRefused('it must be an UPDATE, DELETE, INSERT, or a schema change such as ALTER TABLE or CREATE INDEX')
  const table = tableOf(fields.relation as Fields, map)
  const printer = new Printer(map.dialect, values)
  const print = (expression: Expression) => printChecked(expression, map, printer)
  const isCertain = (expression: Expression) => isWrittenOut(expression, values)
  const { text: printed, ...change } = write(fields, { table, map, print, isCertain })
  return {
    ...{ text: printed, values: printer.bound, aspects: [table], isSchemaChange: false },
    change: { ...change, table },
  }
}

interface Context {
  readonly table: string
  readonly map: ShardMap
  print(expression: Expression): string
  /** Whether its value is written out or a parameter, and is not NULL. */
  isCertain(expression: Expression): boolean
}

interface Printed extends Omit<TableChange, 'table'> {
  readonly text: string
}

const WRITES: Readonly<Record<string, (fields: Fields, context: Context) => Printed>> = {
  UpdateStmt: printUpdate,
  DeleteStmt: printDelete,
  InsertStmt: printInsert,
}

function printUpdate(fields: Fields, { table, map, print, isCertain }: Context): Printed {
  checkFields('UPDATE', fields, ['relation', 'targetList', 'whereClause'])
  const set = listOf(fields.targetList).map(node => {
    const { name, val, indirection } = node.ResTarget!
    if (indirection || (val as Node).MultiAssignRef) throw globalRefused('SET takes one column and one value at a time')
    return { name: String(name), value: expressionOf(val as Node) }
  })
  const key = shardKeyOf(map, table)
  if (set.some(({ name }) => isSameColumn(key, name, map)))
    throw globalRefused(`it changes ${key}, the key of ${table}, so rows would have to move to other shards`)
  const list = set.map(({ name, value }) => `${quoteName(name, map.dialect)} = ${print(value)}`).join(', ')
  return {
    kind: 'update',
    text: `UPDATE ${quoteName(table, map.dialect)} SET ${list}${whereOf(fields, print)}`,
    columns: set.map(({ name }) => name),
    certain: set.filter(({ value }) => isCertain(value)).map(({ name }) => name),
  }
}

function printDelete(fields: Fields, { table, map, print }: Context): Printed {
  checkFields('DELETE', fields, ['relation', 'whereClause'])
  const text = `DELETE FROM ${quoteName(table, map.dialect)}${whereOf(fields, print)}`
  return { kind: 'delete', text, columns: [], certain: [] }
}

function printInsert(fields: Fields, { table, map, print, isCertain }: Context): Printed {
  checkFields('INSERT', fields, ['relation', 'cols', 'selectStmt', 'override'])
  if (shardKeyOf(map, table) !== undefined)
    throw globalRefused(`a row of ${table} belongs to one shard. Insert it there`)
  const columns = listOf(fields.cols).map(node => String(node.ResTarget!.name))
  const lists = listOf((fields.selectStmt as Node | undefined)?.SelectStmt?.valuesLists)
  if (columns.length === 0 || lists.length === 0) throw globalRefused('INSERT must name its columns, and have VALUES')
  const rows = lists.map(node => listOf(node.List!.items).map(expressionOf))
  const names = columns.map(name => quoteName(name, map.dialect)).join(', ')
  const printed = rows.map(row => `(${row.map(print).join(', ')})`).join(', ')
  return {
    kind: 'insert',
    text: `INSERT INTO ${quoteName(table, map.dialect)} (${names})${overridingOf(fields, map)} VALUES ${printed}`,
    columns,
    certain: columns.filter((_, i) => rows.every(row => row[i] !== undefined && isCertain(row[i]))),
  }
}

/** With this clause, columns take the values given, and not the next number of each shard. */
function overridingOf({ override = 'OVERRIDING_NOT_SET' }: Fields, { dialect }: ShardMap): string {
  if (override === 'OVERRIDING_NOT_SET') return ''
  if (override === 'OVERRIDING_SYSTEM_VALUE' && dialect === 'postgres') return ' OVERRIDING SYSTEM VALUE'
  throw globalRefused('only OVERRIDING SYSTEM VALUE is supported, in PostgreSQL')
}

function isWrittenOut(expression: Expression, values: readonly ParameterValue[]): boolean {
  if (expression.kind === 'negative') return isWrittenOut(expression.of, values)
  if (expression.kind === 'literal') return expression.type !== 'null'
  return expression.kind === 'parameter' && (values[expression.index] ?? null) !== null
}

function whereOf({ whereClause }: Fields, print: (expression: Expression) => string): string {
  return whereClause ? ` WHERE ${print(expressionOf(whereClause as Node))}` : ''
}

function tableOf({ relname, schemaname, alias }: Fields, map: ShardMap): string {
  if (schemaname || alias) throw globalRefused('the table must be named without a schema, and cannot have an alias')
  return known(String(relname), map)
}

function known(table: string, map: ShardMap): string {
  if (shardKeyOf(map, table) !== undefined || map.global.includes(table)) return table
  throw globalRefused(`the table ${JSON.stringify(table)} is neither among the sharded nor among the global ones`)
}

function printChecked(expression: Expression, map: ShardMap, printer: Printer): string {
  checkSame(expression, map)
  return printer.print(expression)
}

/** The result must be the same on every shard, or each shard's part of it. */
function checkSame(expression: Expression, map: ShardMap): void {
  if (expression.kind === 'aggregate') throw globalRefused('it contains an aggregate')
  if (expression.kind === 'inQuery' || expression.kind === 'exists') checkGlobal(expression.query, map)
  for (const child of childrenOf(expression)) checkSame(child, map)
}

/** Checks every level: each shard would find different rows in a sharded table, and with a LIMIT without an order. */
function checkGlobal(query: Select, map: ShardMap): void {
  const { from, limit, offset } = query
  const isSafe =
    limit === undefined && offset === undefined && tablesOf(from).every(table => map.global.includes(table))
  if (!isSafe) throw globalRefused('a query within it uses tables that are not the same on every shard, or has a LIMIT')
  for (const each of queriesIn(query)) checkGlobal(each, map)
}

/** The queries directly within a query. */
function queriesIn({ items, from, where, groupBy, having, orderBy }: Select): readonly Select[] {
  const expressions = [
    ...items.flatMap(item => ('expression' in item ? [item.expression] : [])),
    ...[where, having, ...groupBy, ...orderBy.map(({ expression }) => expression)],
  ]
  return [...expressions.flatMap(queriesOf), ...queriesFrom(from)]
}

function queriesOf(expression: Expression | undefined): readonly Select[] {
  if (expression === undefined) return []
  const own = expression.kind === 'inQuery' || expression.kind === 'exists' ? [expression.query] : []
  return [...own, ...childrenOf(expression).flatMap(queriesOf)]
}

function queriesFrom(from: From | undefined): readonly Select[] {
  if (from === undefined || from.kind === 'table') return []
  if (from.kind === 'query') return [from.query]
  return [...queriesFrom(from.left), ...queriesFrom(from.right), ...queriesOf(from.on)]
}

/** The tables of a FROM, without those of queries in it. */
function tablesOf(from: From | undefined): readonly string[] {
  if (from === undefined || from.kind === 'query') return []
  return from.kind === 'table' ? [from.table] : [...tablesOf(from.left), ...tablesOf(from.right)]
}

const NAME = '[`"]?([A-Za-z_][A-Za-z0-9_$]*)[`"]?'
/** Matches schema changes in the syntax of the engine, which our parser does not know completely. */
const SCHEMA_CHANGES = [
  new RegExp(`^alter\\s+table\\s+(?:if\\s+exists\\s+)?${NAME}\\s+(?!.*\\brename\\b)`, 'is'),
  new RegExp(`^create\\s+table\\s+(?:if\\s+not\\s+exists\\s+)?${NAME}\\s*\\(`, 'is'),
  new RegExp(`^drop\\s+table\\s+(?:if\\s+exists\\s+)?${NAME}\\s*$`, 'is'),
  new RegExp(`^create\\s+(?:unique\\s+)?index\\s+(?:if\\s+not\\s+exists\\s+)?\\S+\\s+on\\s+${NAME}\\s*\\(`, 'is'),
  new RegExp(`^drop\\s+index\\s+(?:if\\s+exists\\s+)?\\S+\\s+on\\s+${NAME}\\s*$`, 'is'),
]
const LOOKS_LIKE_ONE = /^\s*(?:alter|create|drop|truncate|rename|grant|revoke)\b/i
/** Quoted parts, which are not searched. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`/g

function readSchemaChange(text: string): string | undefined {
  if (!LOOKS_LIKE_ONE.test(text)) return undefined
  const trimmed = text.trim()
  if (/;|--|\/\*|#|\\/.test(trimmed.replace(QUOTED, '')))
    throw globalRefused('it contains a semicolon, a comment or a backslash')
  for (const pattern of SCHEMA_CHANGES) {
    const found = pattern.exec(trimmed)
    if (found) return found[1]
  }
  throw globalRefused(
    'supported schema changes are ALTER TABLE, CREATE TABLE, DROP TABLE, CREATE INDEX ... ON and DROP INDEX ... ON',
  )
}

function schemaWrite(table: string, map: ShardMap, text: string, values: readonly ParameterValue[]): ParsedWrite {
  if (values.length > 0) throw globalRefused('a schema change takes no parameters')
  return { text: text.trim(), values: [], aspects: [known(table, map)], isSchemaChange: true }
}
