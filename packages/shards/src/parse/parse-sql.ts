/**
 * From the text of a query to the tree of `plan/`. The parser is PostgreSQL's own (`libpg-query`, docs/decisions/0016). Its
 * output is converted piece by piece, and whatever has no form in our tree is refused. So a query cannot do anything that was not
 * provided for: no writes, no locks, no functions with different results on each shard.
 */
import { FreshetError } from '@freshet/protocol'
import {
  type Aggregate,
  type CastType,
  type Expression,
  type From,
  type Select,
  type SelectItem,
  type Sorting,
  type Star,
  sqlInvalid,
  sqlRefused,
} from '../plan/index.js'

/** A node of the parser's tree: an object with one member, by the name of its kind. */
export type Node = Readonly<Record<string, Readonly<Record<string, unknown>>>>

type Fields = Readonly<Record<string, unknown>>

export interface SqlParser {
  /** The statements of a text. Throws SQL_INVALID. */
  parse(text: string): readonly Node[]
}

const SQL_LENGTH_MAX = 100_000
/** The depth of the parser's tree, which has a few levels for each operator. */
const DEPTH_MAX = 1000
/**
 * Words and signs, each of which could add a level, unlike numbers and commas. Also in quoted texts, which should be parameters.
 */
const NESTING = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|[^\s\w,]/g
const NESTING_MAX = 4000

/** Loaded only in a server with shards, because it is 2 MB, and most servers have no shards. */
export async function loadSqlParser(): Promise<SqlParser> {
  const { loadModule, parseSync } = await import('libpg-query')
  await loadModule()
  return {
    parse: text => {
      if (text.length > SQL_LENGTH_MAX) throw sqlInvalid(`it is longer than ${SQL_LENGTH_MAX} characters`)
      // A parser that has run out of stack does not recover: after a hundred times it can no longer parse any query.
      if ((text.match(NESTING)?.length ?? 0) > NESTING_MAX) throw tooDeep()
      try {
        const { stmts = [] } = parseSync(text) as unknown as { stmts?: readonly { readonly stmt: Node }[] }
        checkDepth(stmts)
        return stmts.map(({ stmt }) => stmt)
      } catch (cause) {
        if (cause instanceof FreshetError) throw cause
        if (cause instanceof RangeError) throw tooDeep()
        const reason = cause instanceof Error ? cause.message : String(cause)
        throw sqlInvalid(`it is not SQL: ${reason}`)
      }
    },
  }
}

/** Without recursion, unlike the code that follows, here and in the engines, which recurses at each level. */
function checkDepth(tree: unknown): void {
  let level: readonly unknown[] = [tree]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) throw tooDeep()
    level = level.flatMap(node => (typeof node === 'object' && node !== null ? Object.values(node) : []))
  }
}

function tooDeep(): FreshetError {
  return sqlInvalid(
    `it has more than ${NESTING_MAX} words and signs, or is nested too deeply. Send texts and lists as parameters`,
  )
}

/** Throws SQL_INVALID, SQL_REFUSED. */
export function parseSelect(parser: SqlParser, text: string): Select {
  const statements = parser.parse(text)
  if (statements.length !== 1) throw sqlInvalid(`it must be one statement, not ${statements.length}`)
  const select = statements[0]!.SelectStmt
  if (select === undefined) throw sqlInvalid('only SELECT is allowed here. Send writes to all shards to POST /global')
  return selectOf(select)
}

const SELECT_FIELDS = [
  ...[
    'targetList',
    'fromClause',
    'whereClause',
    'groupClause',
    'havingClause',
    'sortClause',
    'limitCount',
    'limitOffset',
  ],
  ...['distinctClause', 'limitOption', 'op', 'groupDistinct', 'all'],
]

function selectOf(select: Fields): Select {
  if (select.op !== undefined && select.op !== 'SETOP_NONE')
    throw sqlRefused('UNION, INTERSECT and EXCEPT are not supported')
  checkFields('SELECT', select, SELECT_FIELDS)
  if (select.limitOption === 'LIMIT_OPTION_WITH_TIES') throw sqlRefused('WITH TIES is not supported')
  const distinct = listOf(select.distinctClause)
  if (distinct.some(node => Object.keys(node).length > 0)) throw sqlRefused('DISTINCT ON is not supported')
  const from = listOf(select.fromClause).map(fromOf)
  return {
    isDistinct: distinct.length > 0,
    items: listOf(select.targetList).map(itemOf),
    ...(from.length > 0 ? { from: from.reduce((left, right) => ({ kind: 'join', join: 'inner', left, right })) } : {}),
    ...(select.whereClause ? { where: expressionOf(select.whereClause as Node) } : {}),
    groupBy: listOf(select.groupClause).map(expressionOf),
    ...(select.havingClause ? { having: expressionOf(select.havingClause as Node) } : {}),
    orderBy: listOf(select.sortClause).map(sortingOf),
    ...(select.limitCount ? { limit: expressionOf(select.limitCount as Node) } : {}),
    ...(select.limitOffset ? { offset: expressionOf(select.limitOffset as Node) } : {}),
  }
}

function itemOf(node: Node): SelectItem | Star {
  const { val, name } = node.ResTarget!
  const fields = (val as Node).ColumnRef?.fields as readonly Node[] | undefined
  if (fields?.at(-1)?.A_Star) {
    const relation = fields.length > 1 ? textOf(fields[0]!) : undefined
    return { kind: 'star', ...(relation === undefined ? {} : { relation }) }
  }
  return { expression: expressionOf(val as Node), ...(typeof name === 'string' ? { alias: name } : {}) }
}

function fromOf(node: Node): From {
  const [kind, fields] = only(node)
  if (kind === 'RangeVar') {
    if (fields.schemaname || fields.catalogname) throw sqlRefused('tables must be named without a schema or database')
    const table = String(fields.relname)
    return { kind: 'table', table, alias: aliasOf(fields.alias) ?? table }
  }
  if (kind === 'RangeSubselect') {
    if (fields.lateral) throw sqlRefused('LATERAL is not supported')
    const query = (fields.subquery as Node).SelectStmt
    if (query === undefined) throw sqlRefused('only a SELECT can be in FROM')
    return { kind: 'query', query: selectOf(query), alias: aliasOf(fields.alias) ?? 'query' }
  }
  if (kind !== 'JoinExpr') throw sqlRefused(`${kind} in FROM is not supported`)
  const join = JOINS[String(fields.jointype)]
  if (join === undefined || fields.isNatural)
    throw sqlRefused('supported joins are JOIN, LEFT JOIN and CROSS JOIN, with ON or USING')
  if (fields.alias || fields.join_using_alias) throw sqlRefused('a join cannot have an alias')
  const using = listOf(fields.usingClause).map(textOf)
  return {
    kind: 'join',
    join,
    left: fromOf(fields.larg as Node),
    right: fromOf(fields.rarg as Node),
    ...(fields.quals ? { on: expressionOf(fields.quals as Node) } : {}),
    ...(using.length > 0 ? { using } : {}),
  }
}

const JOINS: Readonly<Record<string, 'inner' | 'left'>> = { JOIN_INNER: 'inner', JOIN_LEFT: 'left' }

function aliasOf(alias: unknown): string | undefined {
  if (alias === undefined) return undefined
  const { aliasname, colnames } = alias as Fields
  if (colnames) throw sqlRefused('an alias cannot name columns')
  return String(aliasname)
}

function sortingOf(node: Node): Sorting {
  const { node: by, sortby_dir, sortby_nulls, useOp } = node.SortBy!
  if (useOp || (sortby_nulls !== undefined && sortby_nulls !== 'SORTBY_NULLS_DEFAULT')) {
    throw sqlRefused('NULLS FIRST, NULLS LAST and USING in ORDER BY are not supported')
  }
  return { expression: expressionOf(by as Node), isDescending: sortby_dir === 'SORTBY_DESC' }
}

const EXPRESSIONS: Readonly<Record<string, (fields: Fields) => Expression>> = {
  ColumnRef: columnOf,
  A_Const: constantOf,
  ParamRef: parameterOf,
  A_Expr: operationOf,
  BoolExpr: booleanOf,
  NullTest: ({ arg, nulltesttype }) => ({
    kind: 'isNull',
    of: expressionOf(arg as Node),
    isNegated: nulltesttype === 'IS_NOT_NULL',
  }),
  CaseExpr: caseOf,
  CoalesceExpr: ({ args }) => ({ kind: 'call', name: 'coalesce', args: listOf(args).map(expressionOf) }),
  MinMaxExpr: ({ op, args }) => {
    const name = op === 'IS_LEAST' ? 'least' : 'greatest'
    return { kind: 'call', name, args: listOf(args).map(expressionOf) }
  },
  FuncCall: callOf,
  TypeCast: castOf,
  SubLink: queryOf,
}

export function expressionOf(node: Node): Expression {
  const [kind, fields] = only(node)
  const read = Object.hasOwn(EXPRESSIONS, kind) ? EXPRESSIONS[kind] : undefined
  if (read === undefined) throw sqlRefused(`${kind} is not supported`)
  return read(fields)
}

function columnOf({ fields }: Fields): Expression {
  const names = listOf(fields).map(textOf)
  if (names.length > 2) throw sqlRefused('columns must be named as name or relation.name')
  return names.length === 1
    ? { kind: 'column', name: names[0]! }
    : { kind: 'column', relation: names[0]!, name: names[1]! }
}

function constantOf(fields: Fields): Expression {
  const { isnull, ival, fval, sval, boolval } = fields as Record<string, Fields | undefined>
  if (isnull) return { kind: 'literal', type: 'null', text: '' }
  // The parser leaves out 0, false and empty texts.
  if (ival) return { kind: 'literal', type: 'number', text: `${ival.ival ?? 0}` }
  if (fval) return decimalOf(String(fval.fval))
  if (boolval) return { kind: 'literal', type: 'boolean', text: `${boolval.boolval ?? false}` }
  if (sval) return { kind: 'literal', type: 'text', text: String(sval.sval ?? '') }
  throw sqlRefused('a constant of this kind is not supported')
}

function decimalOf(text: string): Expression {
  if (!/^-?(?:\d+\.?\d*|\.\d+)$/.test(text)) throw sqlRefused('numbers must be written with digits and a point')
  return { kind: 'literal', type: 'number', text: text.replace(/^(-?)\./, '$10.').replace(/\.$/, '') }
}

function parameterOf({ number }: Fields): Expression {
  if (typeof number !== 'number' || number < 1) throw sqlInvalid('parameters must be written as $1, $2 and so on')
  return { kind: 'parameter', index: number - 1 }
}

const OPERATORS = ['+', '-', '*', '/', '%', '=', '<>', '<', '<=', '>', '>='] as const

function operationOf({ kind, name, lexpr, rexpr }: Fields): Expression {
  const operator = textOf(listOf(name)[0]!)
  const left = lexpr ? expressionOf(lexpr as Node) : undefined
  switch (kind) {
    case 'AEXPR_OP': {
      const right = expressionOf(rexpr as Node)
      if (left === undefined && operator === '-') return { kind: 'negative', of: right }
      const known = OPERATORS.find(each => each === operator)
      if (left && known) return { kind: 'binary', operator: known, left, right }
      throw sqlRefused(`the operator ${operator} is not supported`)
    }
    case 'AEXPR_LIKE':
      return {
        kind: 'binary',
        operator: operator === '!~~' ? 'not like' : 'like',
        left: left!,
        right: expressionOf(rexpr as Node),
      }
    case 'AEXPR_BETWEEN':
    case 'AEXPR_NOT_BETWEEN': {
      const [low, high] = listOf((rexpr as Node).List!.items).map(expressionOf)
      return { kind: 'between', of: left!, low: low!, high: high!, isNegated: kind === 'AEXPR_NOT_BETWEEN' }
    }
    case 'AEXPR_IN':
      return {
        kind: 'in',
        of: left!,
        list: listOf((rexpr as Node).List!.items).map(expressionOf),
        isNegated: operator === '<>',
      }
    case 'AEXPR_NULLIF':
      return { kind: 'call', name: 'nullif', args: [left!, expressionOf(rexpr as Node)] }
    default:
      throw sqlRefused(`the operator ${operator} of this kind is not supported`)
  }
}

function booleanOf({ boolop, args }: Fields): Expression {
  const parts = listOf(args).map(expressionOf)
  if (boolop === 'NOT_EXPR') return { kind: 'not', of: parts[0]! }
  return { kind: boolop === 'AND_EXPR' ? 'and' : 'or', parts }
}

function caseOf({ arg, args, defresult }: Fields): Expression {
  const of = arg ? expressionOf(arg as Node) : undefined
  const whens = listOf(args).map(node => {
    const { expr, result } = node.CaseWhen!
    const when = expressionOf(expr as Node)
    return {
      when: of ? ({ kind: 'binary', operator: '=', left: of, right: when } as const) : when,
      gives: expressionOf(result as Node),
    }
  })
  return { kind: 'case', whens, ...(defresult ? { otherwise: expressionOf(defresult as Node) } : {}) }
}

const AGGREGATES: readonly string[] = ['count', 'sum', 'avg', 'min', 'max']
/** Functions that return the same for the same arguments, on every shard. */
const FUNCTIONS: readonly string[] = [
  ...[
    'abs',
    'ceil',
    'ceiling',
    'floor',
    'round',
    'sign',
    'mod',
    'lower',
    'upper',
    'length',
    'char_length',
    'left',
    'right',
  ],
  ...['concat', 'replace', 'ltrim', 'rtrim', 'substring', 'year', 'month', 'day', 'extract'],
]
const EXTRACTED: readonly string[] = ['year', 'month', 'day', 'hour', 'minute']
const CALL_FIELDS = ['funcname', 'args', 'agg_star', 'agg_distinct', 'funcformat']

function callOf(fields: Fields): Expression {
  const names = listOf(fields.funcname).map(textOf)
  const name = names.at(-1)!
  if (names.length > 1 && names[0] !== 'pg_catalog') throw sqlRefused('functions must be named without a schema')
  checkFields(`${name}(...)`, fields, CALL_FIELDS)
  const args = listOf(fields.args).map(expressionOf)
  if (AGGREGATES.includes(name)) return aggregateOf(name as Aggregate['name'], args, fields)
  if (!FUNCTIONS.includes(name) || fields.agg_distinct) {
    throw sqlRefused(
      `the function ${name} is not one of those that return the same on every shard: ${FUNCTIONS.join(', ')}`,
    )
  }
  const [first] = args
  if (name === 'extract' && !(first?.kind === 'literal' && EXTRACTED.includes(first.text))) {
    throw sqlRefused(`EXTRACT takes ${EXTRACTED.join(', ')}`)
  }
  return { kind: 'call', name, args }
}

function aggregateOf(name: Aggregate['name'], args: readonly Expression[], fields: Fields): Expression {
  const isDistinct = fields.agg_distinct === true
  if (fields.agg_star && name === 'count') return { kind: 'aggregate', name, isDistinct: false }
  const [of] = args
  if (of === undefined || args.length > 1) throw sqlRefused(`${name} takes one argument`)
  return { kind: 'aggregate', name, of, isDistinct }
}

const CASTS: Readonly<Record<string, CastType['name']>> = {
  int4: 'integer',
  int8: 'integer',
  bigint: 'integer',
  signed: 'integer',
  numeric: 'decimal',
  text: 'text',
  date: 'date',
}

function castOf({ arg, typeName }: Fields): Expression {
  const { names, typmods, arrayBounds } = typeName as Fields
  const type = textOf(listOf(names).at(-1)!)
  const of = expressionOf(arg as Node)
  const name = CASTS[type]
  if (name === undefined || arrayBounds)
    throw sqlRefused(`a cast to ${type} is not supported, only to bigint, decimal, text and date`)
  const [precision, scale] = listOf(typmods).map(node => Number((expressionOf(node) as { text?: string }).text))
  return {
    kind: 'cast',
    of,
    to: { name, ...(precision === undefined ? {} : { precision }), ...(scale === undefined ? {} : { scale }) },
  }
}

function queryOf({ subLinkType, testexpr, operName, subselect }: Fields): Expression {
  const query = selectOf((subselect as Node).SelectStmt!)
  if (subLinkType === 'EXISTS_SUBLINK') return { kind: 'exists', query }
  if (subLinkType === 'ANY_SUBLINK' && !operName) {
    return { kind: 'inQuery', of: expressionOf(testexpr as Node), query, isNegated: false }
  }
  throw sqlRefused('of queries within expressions there are EXISTS (...) and x IN (...)')
}

function only(node: Node): readonly [kind: string, fields: Fields] {
  const [entry] = Object.entries(node)
  if (entry === undefined) throw sqlRefused('something in it is not supported')
  return entry
}

export function listOf(value: unknown): readonly Node[] {
  return Array.isArray(value) ? (value as readonly Node[]) : []
}

function textOf(node: Node): string {
  const { String: text } = node
  if (text === undefined) throw sqlRefused('something in it is not supported')
  return globalThis.String(text.sval ?? '')
}

/** What else the parser has found in it would be left out without a word. */
export function checkFields(what: string, fields: Fields, known: readonly string[]): void {
  const other = Object.keys(fields).find(name => name !== 'location' && !known.includes(name))
  if (other !== undefined) throw sqlRefused(`${what} with ${other} is not supported`)
}
