/**
 * Compares two concurrent changes of an object, field by field, with the object that both began with. Fields are those at the top
 * level; each counts as a whole.
 */
export type Fields = Readonly<Record<string, unknown>>

export interface FieldMerge {
  readonly field: string
  /** Undefined if the field does not exist. */
  readonly was: unknown
  readonly theirs: unknown
  readonly mine: unknown
  /** both: the changes differ, so the user must choose. */
  readonly changedBy: 'neither' | 'them' | 'me' | 'both'
}

export function compareFields(was: Fields, theirs: Fields, mine: Fields): readonly FieldMerge[] {
  const names = new Set([...Object.keys(was), ...Object.keys(theirs), ...Object.keys(mine)])
  return [...names].map(field => {
    const values = { was: fieldOf(was, field), theirs: fieldOf(theirs, field), mine: fieldOf(mine, field) }
    return { field, ...values, changedBy: changedBy(values) }
  })
}

/** Their object with my changes; a field that both changed is as chosen. */
export function mergeFields(fields: readonly FieldMerge[], keepsMine: ReadonlySet<string>): Fields {
  const kept = fields.map(({ field, theirs, mine, changedBy }) => {
    const isMine = changedBy === 'me' || (changedBy === 'both' && keepsMine.has(field))
    return [field, isMine ? mine : theirs] as const
  })
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined))
}

function fieldOf(object: Fields, field: string): unknown {
  return Object.hasOwn(object, field) ? object[field] : undefined
}

function changedBy({ was, theirs, mine }: Pick<FieldMerge, 'was' | 'theirs' | 'mine'>): FieldMerge['changedBy'] {
  if (isSame(theirs, mine)) return isSame(was, mine) ? 'neither' : 'them'
  if (isSame(was, theirs)) return 'me'
  return isSame(was, mine) ? 'them' : 'both'
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(inOrder(a)) === JSON.stringify(inOrder(b))
}

/** The order of fields does not count. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => [name, inOrder(each)])
}
