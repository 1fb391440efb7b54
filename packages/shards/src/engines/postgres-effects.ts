/** What tables in PostgreSQL do by themselves. Rules count as triggers: they too do something other than the statement says. */
import type { ForeignKey, TableEffects, Trigger } from '../plan/index.js'
import type { Session } from './session-pool.js'

const HERE = 'c.relnamespace = to_regnamespace(quote_ident(current_schema()))'

function columnNames(of: 'con' | 'conf'): string {
  return `(SELECT json_agg(a.attname ORDER BY k.place) FROM unnest(f.${of}key) WITH ORDINALITY k (number, place) JOIN pg_attribute a ON a.attrelid = f.${of}relid AND a.attnum = k.number)`
}

const FOREIGN_KEYS = `SELECT c.relname, ${columnNames('con')}, p.relname, ${columnNames('conf')}, f.confdeltype, f.confupdtype FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class p ON p.oid = f.confrelid WHERE f.contype = 'f' AND ${HERE}`
const TRIGGERS = `SELECT c.relname, t.tgname, t.tgtype FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND t.tgenabled NOT IN ('D', 'R') AND ${HERE}`
const RULES = `SELECT c.relname, r.rulename, CASE r.ev_type WHEN '2' THEN 16 WHEN '3' THEN 4 ELSE 8 END FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relkind IN ('r', 'p') AND r.ev_type IN ('2', '3', '4') AND ${HERE}`
const COLUMNS = `SELECT c.relname, a.attname, a.attidentity, COALESCE(pg_get_expr(d.adbin, d.adrelid), t.typdefault, '') FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND ${HERE}`
/** NULL, numbers, texts and booleans, with or without a cast: every shard fills in the same. */
const CONSTANT = /^(?:NULL|true|false|\(?-?[\d.]+\)?|'(?:[^']|'')*')(?:::[\w ".,()[\]]+)?$/s
/** Bits of `tgtype`. */
const EVENTS = [
  [4, 'insert'],
  [8, 'delete'],
  [16, 'update'],
] as const

export async function readPostgresEffects(session: Session): Promise<TableEffects> {
  const [keys, triggers, rules, columns] = await Promise.all(
    [FOREIGN_KEYS, TRIGGERS, RULES, COLUMNS].map(async text =>
      (await session.run(text)).rows.map(row => row.map(String)),
    ),
  )
  return {
    foreignKeys: keys!.map(foreignKeyOf),
    triggers: [...triggers!, ...rules!].flatMap(triggersOf),
    filled: columns!
      .filter(([, , identity, initial]) => identity !== '' || (initial !== '' && !CONSTANT.test(initial!)))
      .map(([table, name]) => ({ table: table!, name: name!, when: ['insert'] })),
    lasting: [],
  }
}

function foreignKeyOf([table, columns, parent, parentColumns, onDelete, onUpdate]: readonly string[]): ForeignKey {
  const isPassive = (action: string) => action === 'a' || action === 'r'
  return {
    table: table!,
    columns: JSON.parse(columns!),
    parent: parent!,
    parentColumns: JSON.parse(parentColumns!),
    onDelete: onDelete === 'c' ? 'delete' : isPassive(onDelete!) ? 'nothing' : 'update',
    onUpdate: isPassive(onUpdate!) ? 'nothing' : 'update',
  }
}

function triggersOf([table, name, bits]: readonly string[]): readonly Trigger[] {
  return EVENTS.filter(([bit]) => (Number(bits) & bit) !== 0).map(([, on]) => ({ table: table!, name: name!, on }))
}
