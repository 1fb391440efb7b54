import { beforeAll, describe, expect, test } from 'vitest'
import { loadSqlParser, parseSelect, type SqlParser } from '../parse/parse-sql.js'
import { type Catalog, planQuery, type ShardMap } from '../plan/index.js'

const EMPLOYEES: ShardMap = {
  dialect: 'mariadb',
  shards: ['s1', 's2', 's3'],
  placement: { kind: 'ranges', from: [0, 10_000, 20_000] },
  sharded: { employees: 'emp_no', salaries: 'emp_no' },
  global: ['departments'],
}
const CATALOG: Catalog = {
  isTextOrderedByBytes: false,
  tables: new Map([
    [
      'employees',
      [
        { name: 'emp_no', type: 'integer' },
        { name: 'first_name', type: 'text', lengthMax: 14 },
        { name: 'nick', type: 'text', lengthMax: 14, isLoose: true },
      ],
    ],
    [
      'salaries',
      [
        { name: 'emp_no', type: 'integer' },
        { name: 'salary', type: 'integer' },
      ],
    ],
    ['departments', [{ name: 'dept_no', type: 'text', lengthMax: 4 }]],
  ]),
}
let parser: SqlParser

beforeAll(async () => {
  parser = await loadSqlParser()
})

function plan(text: string, values: readonly (string | number)[] = [], map = EMPLOYEES) {
  return planQuery(parseSelect(parser, text), { map, catalog: CATALOG, values, rowsMax: 1000 })
}

test("the paper's query is split into one query for each shard of its range, and their counts are added", () => {
  const { parts, shards, tables, merge } = plan(
    `select count(*) from (select s.emp_no, e.first_name, max(s.salary) from salaries as s, employees as e
     where s.emp_no = e.emp_no and s.emp_no < $1 and s.emp_no > $2 group by s.emp_no) as q`,
    [15_000, 5],
  )
  expect({ shards, tables, way: merge.kind }).toEqual({
    shards: [0, 1],
    tables: ['employees', 'salaries'],
    way: 'groups',
  })
  expect(parts[1]!.statement).toEqual({
    text:
      'SELECT COUNT(*) FROM (SELECT `s`.`emp_no` AS `emp_no`, `e`.`first_name` AS `first_name`, MAX(`s`.`salary`) AS `max` ' +
      'FROM `salaries` AS `s` CROSS JOIN `employees` AS `e` WHERE ((`s`.`emp_no` = `e`.`emp_no`) AND (`s`.`emp_no` < ?) AND ' +
      '(`s`.`emp_no` > ?)) GROUP BY `s`.`emp_no`) AS `q` LIMIT 1001',
    values: [15_000, 5],
  })
})

test('each shard counts distinct keys itself, unless another distinct count splits the groups', () => {
  const keys = 'count(distinct emp_no)'
  expect(plan(`select ${keys} from salaries`).parts[0]!.statement.text).toContain(
    'SELECT COUNT(DISTINCT `salaries`.`emp_no`) FROM',
  )
  const both = plan(`select ${keys}, count(distinct salary) from salaries`).parts[0]!.statement.text
  expect(both).toContain('GROUP BY `salaries`.`emp_no`, `salaries`.`salary`')
})

test('conditions on the key become one range, cut to the range of each shard', () => {
  const asked = (text: string, values: readonly number[]) => {
    const { parts } = plan(text, values)
    return parts.map(({ statement, range }) => [
      statement.text.replace(/.* WHERE | LIMIT.*/g, ''),
      statement.values,
      range,
    ])
  }
  const key = '`salaries`.`emp_no`'
  const text = 'select sum(salary) from salaries where emp_no between $1 and $2 and salary > $3 and emp_no >= 7'
  expect(asked(text, [5, 25_000, 9])).toEqual([
    [`((\`salaries\`.\`salary\` > ?) AND (${key} >= ?) AND (${key} <= ?))`, [9, 7, 9999], { low: 7, high: 9999 }],
    [
      `((\`salaries\`.\`salary\` > ?) AND (${key} >= ?) AND (${key} <= ?))`,
      [9, 10_000, 19_999],
      { low: 10_000, high: 19_999 },
    ],
    [
      `((\`salaries\`.\`salary\` > ?) AND (${key} >= ?) AND (${key} <= ?))`,
      [9, 20_000, 25_000],
      { low: 20_000, high: 25_000 },
    ],
  ])
  expect(plan(text, [5, 25_000, 9]).parts[1]!.family).toBe(plan(text, [6, 26_000, 9]).parts[1]!.family)
  expect(plan(text, [5, 25_000, 9]).parts[1]!.family).not.toBe(plan(text, [5, 25_000, 8]).parts[1]!.family)
})

describe('rows of a narrower range can be selected from the answer', () => {
  test.each([
    ['select salary, emp_no from salaries where emp_no < 5000', 1],
    ['select emp_no, max(salary) from salaries where emp_no < 15000 group by emp_no having max(salary) > 5', 0],
    ['select emp_no from salaries where emp_no < 5000 limit 3', undefined],
    ['select salary from salaries where emp_no < 5000', undefined],
    ['select count(emp_no) from salaries where emp_no < 5000', undefined],
    ['select salary, max(emp_no) from salaries where emp_no < 5000 group by salary', undefined],
    ['select distinct emp_no, salary from salaries where emp_no < 15000 order by salary', 0],
  ])('%s: by the column %s', (text, slot) => {
    expect(plan(text).parts[0]!.keySlot).toBe(slot)
  })
})

describe('only shards that can have rows are asked', () => {
  test.each([
    ['emp_no = 12000', [1]],
    ['emp_no in (1, 25000)', [0, 2]],
    ['emp_no between 9999 and 10000', [0, 1]],
    ['10000 > emp_no', [0]],
    ['emp_no < 5 or emp_no > 20000', [0, 2]],
    ['emp_no < 5 and emp_no > 20000', [0]],
    ['emp_no > 5 and salary < 3', [0, 1, 2]],
    ['not emp_no = 5', [0, 1, 2]],
    ['emp_no = -1', [0]],
    ['emp_no = 99999999', [2]],
    ["emp_no = '5'", [0, 1, 2]],
    ['emp_no + 1 = 5', [0, 1, 2]],
  ])('%s', (condition, shards) => {
    expect(plan(`select count(*) from salaries where ${condition}`).shards).toEqual(shards)
  })

  test('a condition on the key of one table applies to tables joined by it, and not to the right side of an outer join', () => {
    const from = 'select count(*) from employees e join salaries s on s.emp_no = e.emp_no where s.emp_no = 5'
    expect(plan(from).shards).toEqual([0])
    const outer = 'select count(*) from employees e left join salaries s on s.emp_no = e.emp_no and s.emp_no = 5'
    expect(plan(outer).shards).toEqual([0, 1, 2])
  })

  test('by the hash of the key, if rows are placed by hash', () => {
    const map: ShardMap = { ...EMPLOYEES, placement: { kind: 'hash', hashOf: key => key + 1 } }
    expect(plan('select count(*) from salaries where emp_no in (3, 6)', [], map).shards).toEqual([1])
    expect(plan('select count(*) from salaries where emp_no < 3', [], map).shards).toEqual([0, 1, 2])
  })
})

describe('a query whose result would be wrong is refused', () => {
  test.each([
    ['select count(*) from employees e join salaries s on e.emp_no = s.salary', /not joined by their keys/],
    ['select count(*) from employees, salaries', /not joined by their keys/],
    ['select count(*) from departments d left join employees e on e.first_name = d.dept_no', /each shard would keep/],
    ['select max(c) from (select salary, count(*) as c from salaries group by salary) q', /makes groups/],
    ['select count(*) from (select salary from salaries order by salary limit 5) q', /LIMIT/],
    ['select count(*) from (select distinct salary from salaries) q', /DISTINCT/],
    ['select count(*) from (select distinct count(*) as n from salaries group by emp_no) q', /DISTINCT/],
    ['select distinct emp_no from salaries order by salary', /DISTINCT/],
    ['select distinct emp_no from salaries group by emp_no, salary order by count(*)', /DISTINCT/],
    ['select sum(distinct salary) from salaries', /cannot be merged/],
    ['select nick, count(*) from employees group by nick', /only its server knows what is equal/],
    ['select count(distinct lower(nick)) from employees', /only its server knows what is equal/],
    ['select first_name from employees where emp_no in (select emp_no from salaries)', /sharded table/],
    ['select upper(first_name), count(*) from employees group by upper(first_name)', /collation/],
    ['select floor(avg(salary)) from salaries', /floor is applied to an aggregate/],
    ['select sum(salary) over () from salaries', /over/],
    ['select 1 union select 2', /UNION/],
    ['select count(*) from employees tablesample system (1)', /RangeTableSample/],
    ['select count(*) filter (where salary > 1) from salaries', /filter/],
    ['select salary from salaries order by salary nulls last', /NULLS/],
  ])('%s', (text, reason) => {
    expect(() => plan(text)).toThrow(
      expect.objectContaining({ code: 'SQL_REFUSED', message: expect.stringMatching(reason) }),
    )
  })

  test('but not if one shard has all of its rows', () => {
    expect(plan('select floor(avg(salary)), sum(distinct salary) from salaries where emp_no = 5')).toMatchObject({
      shards: [0],
      merge: { kind: 'whole' },
    })
  })
})
