/** Compares text over shards with the same text in one server, for collations of every kind. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSqlParser, parseSelect } from '../parse/parse-sql.js'
import { type Cell, mergeRows, planQuery } from '../plan/index.js'
import { useMariadbShards } from '../under-test/use-shards.js'

const TIMEOUT_MS = 20_000
const LENGTH_MAX = 8
const ROWS = 90
/**
 * Expansions, contractions, ignorable characters, accents, case, characters below space, with two weights, outside of the BMP.
 */
const LATIN = ['a', 'A', 'b', 'ä', 'ae', 'ß', 's', 'ss', 'S', 'e', 'é', 'E', ' ', '  ', '\t', 'ch', 'c', 'ö', 'oe', 'z']
const UNICODE = [
  ...LATIN,
  ...['北', '京', '社', '部', '\uFDFA', '\u200B', '\u00AD', '\u0301', 'e\u0301', 'æ', 'ǆ', 'ﬃ', '😀', '😁', 'เก', 'กเ'],
  ...['dž', 'll', 'aa', 'å', 'か', 'が', 'カ', 'ー', '\u0000', '\u0001', 'i', 'ı', 'İ', '가', '각'],
]
/** Texts that an attacker would try: they have more weights than characters. */
const HOSTILE = [
  '北京大学出版社',
  '北京大学出版部',
  'ßßßa',
  'ßßßb',
  'SSSS',
  '\uFDFA\uFDFAx',
  '\uFDFA\uFDFAy',
  'a',
  'a ',
  'A',
  '',
]
const COLLATIONS: readonly (readonly [collation: string, pieces: readonly string[]])[] = [
  ...[
    'general_ci',
    'unicode_ci',
    'unicode_520_ci',
    'uca1400_ai_ci',
    'uca1400_as_cs',
    'uca1400_nopad_as_ci',
    'czech_ci',
  ],
  ...[
    'german2_ci',
    'danish_ci',
    'spanish2_ci',
    'thai_520_w2',
    'bin',
    'nopad_bin',
    'general_nopad_ci',
    'unicode_nopad_ci',
  ],
]
  .map((name): [string, readonly string[]] => [`utf8mb4_${name}`, UNICODE])
  .concat([
    ['latin1_swedish_ci', LATIN],
    ['latin1_german2_ci', LATIN],
  ])

const started = useMariadbShards({ settings: { innodb_flush_log_at_trx_commit: '0' } })

async function fillTexts(collation: string, texts: readonly string[]): Promise<void> {
  const { databases, map } = started()
  const table = `CREATE OR REPLACE TABLE texts (id INT PRIMARY KEY, s VARCHAR(${LENGTH_MAX}) CHARACTER SET ${collation.split('_')[0]} COLLATE ${collation})`
  // The texts go to the shards in turn; for these queries it does not matter which shard has a key.
  const rows = texts.map((text, id) => ({ id, text, shard: map.shards[id % map.shards.length] }))
  for (const name of [...map.shards, 'whole']) {
    await databases.run(name, table)
    const here = rows.filter(({ shard }) => name === 'whole' || shard === name)
    const values = here.flatMap(({ id, text }) => [id, text])
    await databases.run(name, `INSERT INTO texts VALUES ${here.map(() => '(?, ?)').join(', ')}`, values)
  }
}

async function ask(text: string): Promise<readonly (readonly Cell[])[]> {
  const { shards } = started()
  const map = { ...started().map, sharded: { texts: 'id' } }
  const catalog = await shards[0]!.catalog()
  const plan = planQuery(parseSelect(await loadSqlParser(), text), { map, catalog, values: [], rowsMax: 10_000 })
  const answers = await Promise.all(
    plan.shards.map((shard, i) =>
      shards[shard]!.read({ statement: plan.parts[i]!.statement, tables: plan.tables, timeoutMs: TIMEOUT_MS }),
    ),
  )
  return mergeRows(plan.merge, answers, 10_000).rows
}

async function askWhole(text: string, values: readonly string[] = []): Promise<readonly (readonly Cell[])[]> {
  const statement = { text, values }
  return (await started().whole.read({ statement, tables: [], timeoutMs: TIMEOUT_MS })).rows
}

async function compareAll(): Promise<void> {
  for (const query of [
    'select id from texts order by s, id',
    'select id from texts order by s desc, id limit 7',
    'select count(distinct s) as n from texts',
    'select count(*) as n, min(id) as low from texts group by s order by s',
    'select count(*) as n from texts group by s having count(*) > 1 order by s desc',
  ])
    expect(await ask(query), query).toEqual(await askWhole(query))
  expect(await ask('select distinct s from texts')).toHaveLength(
    (await askWhole('select distinct s from texts')).length,
  )
  for (const name of ['min', 'max']) {
    const [[found]] = (await ask(`select ${name}(s) as s from texts`)) as [[string]]
    expect(await askWhole(`select (select ${name}(s) from texts) = ?`, [found])).toEqual([['1']])
  }
}

describe.each(COLLATIONS)('text of the collation %s', (collation, pieces) => {
  test('is compared, ordered and counted over shards as in one server', async () => {
    const text = fc
      .array(fc.constantFrom(...pieces), { maxLength: LENGTH_MAX })
      .map(parts => [...parts.join('')].slice(0, LENGTH_MAX).join(''))
    const some = fc.sample(text, { numRuns: ROWS, seed: 7 })
    const hostile = pieces === UNICODE ? HOSTILE : ['ßßßa', 'ßßßb', 'SSSS', 'a', 'a ', 'A', '']
    await fillTexts(collation, [...hostile, ...hostile, ...some])
    await compareAll()
  })
})

test.each(['cp1250_czech_cs', 'latin2_czech_cs', 'latin7_general_ci', 'big5_chinese_ci'])(
  'text of the collation %s is refused',
  async collation => {
    await fillTexts(collation, ['a', 'b', 'c'])
    for (const what of ['distinct s', 'count(distinct s) as n', 'min(s) as s', 'max(s) as s'])
      await expect(ask(`select ${what} from texts`)).rejects.toMatchObject({ code: 'SQL_REFUSED' })
    await expect(ask('select id from texts order by s')).rejects.toMatchObject({ code: 'SQL_REFUSED' })
  },
)
