/**
 * A query as `plan/` sees it: less than a SQL parser knows, and only what can be judged. A parser returns this tree, and refuses
 * whatever has no form in it. `render-sql.ts` prints the tree for each engine, so no text of a user's query ever reaches a shard
 * unchanged.
 */
export type ScalarType = 'integer' | 'decimal' | 'float' | 'text' | 'date' | 'boolean' | 'unknown'

/** What is known about a value before the query runs. */
export interface ValueType {
  readonly type: ScalarType
  /** For text: ordered in its own way, as an ENUM is. */
  readonly isUnordered?: boolean
  /** For text: some values are equal although their bytes differ, and only the server knows which. */
  readonly isLoose?: boolean
  /** For text: the most characters it has. */
  readonly lengthMax?: number
  /** For text in MariaDB: the most weights that its collation gives it; `lengthMax` unless given. */
  readonly weightsMax?: number
  /** For text in MariaDB: spaces at its end count. */
  readonly isUnpadded?: boolean
}

export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>='
export type Arithmetic = '+' | '-' | '*' | '/' | '%'
export type AggregateName = 'count' | 'sum' | 'avg' | 'min' | 'max'

export interface ColumnRef {
  readonly kind: 'column'
  /** The alias of its relation; always present after `resolve`. */
  readonly relation?: string
  readonly name: string
  /** Present after `resolve`. */
  readonly valueType?: ValueType
}

export interface Aggregate {
  readonly kind: 'aggregate'
  readonly name: AggregateName
  /** Undefined: `count(*)`. */
  readonly of?: Expression
  readonly isDistinct: boolean
}

export type Expression =
  | ColumnRef
  | Aggregate
  /** A number keeps its digits. */
  | { readonly kind: 'literal'; readonly type: 'number' | 'text' | 'boolean' | 'null'; readonly text: string }
  /** From 0. */
  | { readonly kind: 'parameter'; readonly index: number }
  | {
      readonly kind: 'binary'
      readonly operator: Comparison | Arithmetic | 'like' | 'not like'
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not' | 'negative'; readonly of: Expression }
  | { readonly kind: 'isNull'; readonly of: Expression; readonly isNegated: boolean }
  | {
      readonly kind: 'between'
      readonly of: Expression
      readonly low: Expression
      readonly high: Expression
      readonly isNegated: boolean
    }
  | { readonly kind: 'in'; readonly of: Expression; readonly list: readonly Expression[]; readonly isNegated: boolean }
  | { readonly kind: 'inQuery'; readonly of: Expression; readonly query: Select; readonly isNegated: boolean }
  | { readonly kind: 'exists'; readonly query: Select }
  | {
      readonly kind: 'case'
      readonly whens: readonly { readonly when: Expression; readonly gives: Expression }[]
      readonly otherwise?: Expression
    }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: 'cast'; readonly of: Expression; readonly to: CastType }
  /** The bytes by which MariaDB orders and compares a text. */
  | { readonly kind: 'weight'; readonly of: Expression; readonly weightsMax: number; readonly isUnpadded: boolean }

export interface CastType {
  readonly name: 'integer' | 'decimal' | 'text' | 'date'
  readonly precision?: number
  readonly scale?: number
}

export interface SelectItem {
  readonly expression: Expression
  readonly alias?: string
}

export interface Star {
  readonly kind: 'star'
  readonly relation?: string
}

export type From =
  | { readonly kind: 'table'; readonly table: string; readonly alias: string }
  | { readonly kind: 'query'; readonly query: Select; readonly alias: string }
  | {
      readonly kind: 'join'
      readonly join: 'inner' | 'left'
      readonly left: From
      readonly right: From
      readonly on?: Expression
      readonly using?: readonly string[]
    }

export interface Sorting {
  readonly expression: Expression
  readonly isDescending: boolean
}

export interface Select {
  readonly isDistinct: boolean
  readonly items: readonly (SelectItem | Star)[]
  /** Undefined: `select 1`. */
  readonly from?: From
  readonly where?: Expression
  readonly groupBy: readonly Expression[]
  readonly having?: Expression
  readonly orderBy: readonly Sorting[]
  readonly limit?: Expression
  readonly offset?: Expression
}

/** Equal for equal expressions. */
export function keyOf(expression: Expression): string {
  return JSON.stringify(expression, (name, value: unknown) => (name === 'valueType' ? undefined : value))
}

/** The expressions directly below, without those inside of queries. */
export function childrenOf(expression: Expression): readonly Expression[] {
  const children: Expression[] = []
  mapChildren(expression, child => {
    children.push(child)
    return child
  })
  return children
}

/** The expression with the expressions directly below it replaced, from left to right. */
export function mapChildren(expression: Expression, map: (child: Expression) => Expression): Expression {
  switch (expression.kind) {
    case 'binary':
      return { ...expression, left: map(expression.left), right: map(expression.right) }
    case 'and':
    case 'or':
      return { ...expression, parts: expression.parts.map(map) }
    case 'not':
    case 'negative':
    case 'isNull':
    case 'cast':
    case 'inQuery':
    case 'weight':
      return { ...expression, of: map(expression.of) }
    case 'between':
      return { ...expression, of: map(expression.of), low: map(expression.low), high: map(expression.high) }
    case 'in':
      return { ...expression, of: map(expression.of), list: expression.list.map(map) }
    case 'case':
      return {
        ...expression,
        whens: expression.whens.map(({ when, gives }) => ({ when: map(when), gives: map(gives) })),
        ...(expression.otherwise ? { otherwise: map(expression.otherwise) } : {}),
      }
    case 'call':
      return { ...expression, args: expression.args.map(map) }
    case 'aggregate':
      return expression.of ? { ...expression, of: map(expression.of) } : expression
    default:
      return expression
  }
}

export function hasAggregate(expression: Expression): boolean {
  return expression.kind === 'aggregate' || childrenOf(expression).some(hasAggregate)
}

/** The conditions that must all hold. */
export function conjunctsOf(expression: Expression | undefined): readonly Expression[] {
  if (expression === undefined) return []
  return expression.kind === 'and' ? expression.parts.flatMap(conjunctsOf) : [expression]
}

/** The condition that holds if all of them do; undefined for an empty list. */
export function allOf(conjuncts: readonly Expression[]): Expression | undefined {
  return conjuncts.length > 1 ? { kind: 'and', parts: conjuncts } : conjuncts[0]
}
