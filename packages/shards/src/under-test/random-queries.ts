/** For tests: random queries about three tables. Most of them can be answered, and some must be refused. */
import fc from 'fast-check'

export interface AskedQuery {
  /** With parameters $1, $2 and so on, in the order of the values. */
  readonly text: string
  readonly values: readonly (string | number)[]
  /** Its rows come in one order, except for texts that count as equal. */
  readonly isOrdered: boolean
}

/** Statements that both engines understand. */
export const TABLES: readonly string[] = [
  'CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), team CHAR(4), age INT, score DECIMAL(8,2), born DATE)',
  'CREATE TABLE visits (person INT NOT NULL, number INT NOT NULL, place VARCHAR(10), spent DECIMAL(6,1), minutes BIGINT, PRIMARY KEY (person, number))',
  'CREATE TABLE teams (team CHAR(4) PRIMARY KEY, title VARCHAR(30), budget BIGINT)',
]

export const SHARDED: Readonly<Record<string, string>> = { people: 'id', visits: 'person' }
export const GLOBAL: readonly string[] = ['teams']
export const KEYS_MAX = 60

interface Source {
  readonly from: string
  readonly where?: string
  readonly keys: readonly string[]
  readonly numbers: readonly string[]
  readonly texts: readonly string[]
  readonly others: readonly string[]
}

const PEOPLE = {
  keys: ['p.id'],
  numbers: ['p.id', 'p.age', 'p.score'],
  texts: ['p.name', 'p.team'],
  others: ['p.born'],
}
const VISITS = {
  keys: ['v.person'],
  numbers: ['v.person', 'v.number', 'v.spent', 'v.minutes'],
  texts: ['v.place'],
  others: [],
}
const TEAMS = { keys: [], numbers: ['t.budget'], texts: ['t.team', 't.title'], others: [] }
const GROUPED =
  '(select person, count(*) as visits, sum(spent) as spent, max(minutes) as longest from visits group by person) d'
const GROUPED_COLUMNS = {
  keys: ['d.person'],
  numbers: ['d.person', 'd.visits', 'd.spent', 'd.longest'],
  texts: [],
  others: [],
}

function together(...parts: readonly Omit<Source, 'from'>[]): Omit<Source, 'from'> {
  const all = (name: 'keys' | 'numbers' | 'texts' | 'others') => parts.flatMap(part => part[name])
  return { keys: all('keys'), numbers: all('numbers'), texts: all('texts'), others: all('others') }
}

const SOURCES: readonly Source[] = [
  { from: 'people p', ...PEOPLE },
  { from: 'people as p', ...PEOPLE },
  { from: 'visits v', ...VISITS },
  { from: 'teams t', ...TEAMS },
  { from: 'people p join visits v on p.id = v.person', ...together(PEOPLE, VISITS) },
  { from: 'people p, visits v', where: 'v.person = p.id', ...together(PEOPLE, VISITS) },
  { from: 'people p left join visits v on v.person = p.id', ...together(PEOPLE, VISITS) },
  { from: 'people p left join visits v on v.person = p.id and v.number > 1', ...together(PEOPLE, VISITS) },
  { from: 'people p join teams t on p.team = t.team', ...together(PEOPLE, TEAMS) },
  {
    from: 'people p left join teams t using (team)',
    ...together({ ...PEOPLE, texts: ['p.name'] }, { ...TEAMS, texts: ['t.title'] }),
  },
  {
    from: 'people p join visits v on p.id = v.person join teams t on t.team = p.team',
    ...together(PEOPLE, VISITS, TEAMS),
  },
  { from: GROUPED, ...GROUPED_COLUMNS },
  { from: `people p join ${GROUPED} on d.person = p.id`, ...together(PEOPLE, GROUPED_COLUMNS) },
  { from: `people p left join ${GROUPED} on d.person = p.id`, ...together(PEOPLE, GROUPED_COLUMNS) },
  {
    from: '(select distinct person, place from visits) d',
    ...{ keys: ['d.person'], numbers: ['d.person'], texts: ['d.place'], others: [] },
  },
  // Several shards have the same distinct rows of these.
  {
    from: '(select distinct count(*) as visits, max(number) as number from visits group by person) d',
    ...{ keys: [], numbers: ['d.visits', 'd.number'], texts: [], others: [] },
  },
  {
    from: '(select distinct place, number from visits) d',
    ...{ keys: [], numbers: ['d.number'], texts: ['d.place'], others: [] },
  },
  // In these joins rows of several shards would meet, or each shard would keep the rows of the left side.
  { from: 'people p join visits v on p.age = v.number', ...together(PEOPLE, VISITS) },
  { from: 'teams t left join people p on p.team = t.team', ...together(PEOPLE, TEAMS) },
]

class Writer {
  readonly values: (string | number)[] = []

  bind(value: string | number): string {
    return `$${this.values.push(value)}`
  }
}

type Part = (writer: Writer) => string

function oneOf<T>(...items: readonly T[]): fc.Arbitrary<T> {
  return fc.constantFrom(...items)
}

const COMPARISON = oneOf('=', '<', '<=', '>', '>=', '<>')

function conditions(source: Source): fc.Arbitrary<Part> {
  const small = fc.integer({ min: -3, max: 60 })
  const numbers = source.numbers.length > 0 ? source.numbers : ['1']
  const basics: fc.Arbitrary<Part>[] = [
    fc.tuple(oneOf(...numbers), COMPARISON, small).map(
      ([name, operator, value]) =>
        () =>
          `${name} ${operator} ${value}`,
    ),
    fc.tuple(oneOf(...numbers), COMPARISON, small).map(
      ([name, operator, value]) =>
        w =>
          `${w.bind(value)} ${operator} ${name}`,
    ),
    fc.tuple(oneOf(...numbers), oneOf('is null', 'is not null')).map(
      ([name, test]) =>
        () =>
          `${name} ${test}`,
    ),
    fc.tuple(oneOf(...numbers), small, small).map(
      ([name, low, high]) =>
        () =>
          `${name} between ${Math.min(low, high)} and ${high}`,
    ),
    fc.tuple(oneOf(...numbers), oneOf(2, 3), oneOf(0, 1)).map(
      ([name, divisor, rest]) =>
        () =>
          `${name} % ${divisor} = ${rest}`,
    ),
  ]
  basics.push(...textConditions(source), ...keyConditions(source))
  const single = fc.oneof(...basics)
  const pair = fc.tuple(single, oneOf('and', 'or'), single).map(
    ([a, word, b]): Part =>
      w =>
        `(${a(w)} ${word} ${b(w)})`,
  )
  return fc.oneof(
    { weight: 3, arbitrary: single },
    pair,
    single.map(
      (of): Part =>
        w =>
          `not (${of(w)})`,
    ),
  )
}

function textConditions({ texts }: Source): fc.Arbitrary<Part>[] {
  if (texts.length === 0) return []
  const tests = oneOf("= 'ann'", "like 'b%'", "in ('red', 'blue', 'x''y')", 'is not null')
  return [
    fc.tuple(oneOf(...texts), tests).map(
      ([name, test]) =>
        () =>
          `${name} ${test}`,
    ),
  ]
}

function keyConditions(source: Source): fc.Arbitrary<Part>[] {
  if (source.keys.length === 0) return []
  const key = fc.integer({ min: -2, max: KEYS_MAX + 5 })
  const keys = oneOf(...source.keys)
  return [
    fc.tuple(keys, key, key).map(
      ([name, a, b]) =>
        w =>
          `${name} between ${w.bind(Math.min(a, b))} and ${w.bind(Math.max(a, b))}`,
    ),
    fc.tuple(keys, fc.array(key, { minLength: 1, maxLength: 3 })).map(
      ([name, list]) =>
        w =>
          `${name} in (${list.map(each => w.bind(each)).join(', ')})`,
    ),
    fc.tuple(keys, COMPARISON, key).map(
      ([name, operator, value]) =>
        w =>
          `${name} ${operator} ${w.bind(value)}`,
    ),
    fc.tuple(keys, key, keys, key).map(
      ([a, x, b, y]) =>
        w =>
          `(${a} = ${w.bind(x)} or ${b} > ${w.bind(y)})`,
    ),
    fc.constant(() => 'exists (select 1 from teams x where x.budget > 500)'),
  ]
}

function aggregates(source: Source): fc.Arbitrary<string> {
  const numbers = oneOf(...source.numbers)
  const all = [...source.numbers, ...source.texts, ...source.others]
  return fc.oneof(
    fc.constant('count(*)'),
    fc.tuple(oneOf('sum', 'avg', 'min', 'max'), numbers).map(([name, of]) => `${name}(${of})`),
    fc.tuple(oneOf('count', 'min', 'max'), oneOf(...all)).map(([name, of]) => `${name}(${of})`),
    oneOf(...all).map(of => `count(distinct ${of})`),
    fc.tuple(numbers, oneOf('+ 1', '* 2', '- 0.25')).map(([of, more]) => `sum(${of} ${more})`),
    fc
      .tuple(oneOf('sum', 'max'), numbers, oneOf('+', '-', '*', '/'))
      .map(([name, of, operator]) => `${name}(${of}) ${operator} count(*)`),
    numbers.map(of => `sum(${of}) * 100 / count(*)`),
    // Refused in MariaDB.
    numbers.map(of => `avg(${of}) * 100 / 3.50`),
    numbers.map(of => `sum(case when ${of} > 5 then 1 else 0 end)`),
    // These are refused.
    numbers.map(of => `round(avg(${of}), 1)`),
    numbers.map(of => `sum(distinct ${of})`),
  )
}

const HAVING = [
  'count(*) > 1',
  'count(*) between 1 and 4 and count(*) <> 3',
  'avg(1) = 1.0',
  'not count(*) in (2, 3)',
  'sum(2) / count(*) = 2',
]

interface Shape {
  readonly groups: readonly string[]
  readonly outputs: readonly string[]
  readonly having: string | undefined
  readonly isDistinct: boolean
  /** The first sort key, which need not be selected. */
  readonly sortedBy: string | undefined
}

function shapes(source: Source): fc.Arbitrary<Shape> {
  const columns = [...source.numbers, ...source.texts, ...source.others]
  const expressions = [
    ...columns,
    ...source.numbers.map(name => `${name} % 3`),
    ...source.texts.map(name => `upper(${name})`),
  ]
  const rows = fc.record({
    groups: fc.constant([]),
    outputs: fc.uniqueArray(oneOf(...columns), { minLength: 1, maxLength: 3 }),
    having: fc.constant(undefined),
    isDistinct: fc.boolean(),
    sortedBy: fc.option(oneOf(...columns), { nil: undefined, freq: 3 }),
  })
  const grouped = fc
    .record({
      groups: fc.uniqueArray(fc.oneof({ weight: 4, arbitrary: oneOf(...columns) }, oneOf(...expressions)), {
        maxLength: 2,
      }),
      measures: fc.array(aggregates(source), { minLength: 1, maxLength: 3 }),
      having: fc.option(oneOf(...HAVING), { nil: undefined, freq: 3 }),
      isDistinct: fc.integer({ min: 0, max: 4 }).map(chance => chance === 0),
      sortedBy: fc.option(oneOf('count(*)', `max(${source.numbers[0]})`), { nil: undefined, freq: 3 }),
    })
    .map(({ groups, measures, ...rest }) => ({ ...rest, groups, outputs: [...groups, ...measures] }))
  return fc.oneof({ weight: 1, arbitrary: rows }, { weight: 3, arbitrary: grouped })
}

/** An ordered query is sorted by all its columns, so that there is only one answer. */
const ENDINGS = fc.record({
  isOrdered: fc.boolean(),
  limit: fc.option(fc.nat({ max: 8 }), { nil: undefined }),
  offset: fc.nat({ max: 3 }),
  isDescending: fc.boolean(),
})

export function randomQueries(): fc.Arbitrary<AskedQuery> {
  return oneOf(...SOURCES).chain(source =>
    fc
      .record({ shape: shapes(source), where: fc.array(conditions(source), { maxLength: 2 }), ending: ENDINGS })
      .map(({ shape, where, ending }) => write(source, shape, where, ending)),
  )
}

function write(
  source: Source,
  { groups, outputs, having, isDistinct, sortedBy }: Shape,
  where: readonly Part[],
  { isOrdered, limit, offset, isDescending }: typeof ENDINGS extends fc.Arbitrary<infer T> ? T : never,
): AskedQuery {
  const writer = new Writer()
  const conditions = [...(source.where ? [source.where] : []), ...where.map(part => part(writer))]
  const order = [
    ...(sortedBy === undefined ? [] : [sortedBy]),
    ...outputs.map((_, i) => `${i + 1}${isDescending && i % 2 === 0 ? ' desc' : ''}`),
  ]
  // Rows that DISTINCT makes one may differ in what they are sorted by.
  const isUnclear = isDistinct && sortedBy !== undefined
  const text = [
    `select ${isDistinct ? 'distinct ' : ''}${outputs.map((each, i) => (i % 2 === 0 ? `${each} as c${i}` : each)).join(', ')}`,
    `from ${source.from}`,
    ...(conditions.length > 0 ? [`where ${conditions.join(' and ')}`] : []),
    ...(groups.length > 0 ? [`group by ${groups.join(', ')}`] : []),
    ...(having && groups.length > 0 ? [`having ${having}`] : []),
    ...(isOrdered ? [`order by ${order.join(', ')}`] : []),
    ...(isOrdered && !isUnclear && limit !== undefined ? [`limit ${limit} offset ${offset}`] : []),
  ].join(' ')
  return { text, values: writer.values, isOrdered: isOrdered && !isUnclear }
}
