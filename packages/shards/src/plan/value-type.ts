/** The type of an expression, as far as it is known without asking a shard. `unknown` is always a correct answer. */
import type { Expression, ValueType } from './sql-tree.js'

const UNKNOWN: ValueType = { type: 'unknown' }
const INTEGER: ValueType = { type: 'integer' }
const INTEGER_CALLS = ['length', 'char_length', 'year', 'month', 'day', 'extract', 'sign']
const TEXT_CALLS = ['lower', 'upper', 'substring', 'left', 'right', 'concat', 'replace', 'ltrim', 'rtrim']
const LIKE_FIRST = ['coalesce', 'nullif', 'greatest', 'least', 'abs', 'mod', 'floor', 'ceil', 'ceiling', 'round']

export function valueTypeOf(expression: Expression): ValueType {
  switch (expression.kind) {
    case 'column':
      return expression.valueType ?? UNKNOWN
    case 'literal':
      return literalType(expression.type, expression.text)
    case 'binary':
      return '+-*/%'.includes(expression.operator) ? numericOf(expression.left, expression.right) : { type: 'boolean' }
    case 'negative':
      return valueTypeOf(expression.of)
    case 'and':
    case 'or':
    case 'not':
    case 'isNull':
    case 'between':
    case 'in':
    case 'inQuery':
    case 'exists':
      return { type: 'boolean' }
    case 'case':
      return together([
        ...expression.whens.map(({ gives }) => gives),
        ...(expression.otherwise ? [expression.otherwise] : []),
      ])
    case 'call':
      return callType(expression.name, expression.args)
    case 'cast':
      return { type: expression.to.name }
    case 'aggregate':
      if (expression.name === 'count') return INTEGER
      return expression.name === 'avg' || expression.of === undefined ? { type: 'decimal' } : valueTypeOf(expression.of)
    case 'weight':
      return { type: 'text' }
    default:
      return UNKNOWN
  }
}

function literalType(type: 'number' | 'text' | 'boolean' | 'null', text: string): ValueType {
  if (type === 'number') return { type: /^-?\d+$/.test(text) ? 'integer' : 'decimal' }
  return type === 'null' ? UNKNOWN : { type }
}

function numericOf(left: Expression, right: Expression): ValueType {
  const types = [valueTypeOf(left).type, valueTypeOf(right).type]
  if (types.every(type => type === 'integer')) return INTEGER
  return types.every(type => type === 'integer' || type === 'decimal') ? { type: 'decimal' } : UNKNOWN
}

function callType(name: string, args: readonly Expression[]): ValueType {
  if (INTEGER_CALLS.includes(name)) return INTEGER
  if (TEXT_CALLS.includes(name)) return { type: 'text' }
  return LIKE_FIRST.includes(name) ? together(name === 'round' ? args.slice(0, 1) : args) : UNKNOWN
}

/** Text loses what is known about its column: the collation of another part may apply. */
function together(parts: readonly Expression[]): ValueType {
  const types = parts
    .filter(part => !(part.kind === 'literal' && part.type === 'null'))
    .map(part => valueTypeOf(part).type)
  const [first] = types
  if (first !== undefined && types.every(type => type === first)) return { type: first }
  return types.length > 0 && types.every(type => type === 'integer' || type === 'decimal')
    ? { type: 'decimal' }
    : UNKNOWN
}
