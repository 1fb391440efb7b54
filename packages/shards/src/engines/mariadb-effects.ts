/** What tables in MariaDB do by themselves. The server shows triggers only to users who may create them. */
import type { FilledColumn, ForeignKey, TableEffects, Trigger } from '../plan/index.js'
import type { Session } from './session-pool.js'

const FOREIGN_KEYS =
  'SELECT k.table_name, k.constraint_name, k.column_name, k.referenced_table_name, k.referenced_column_name, r.delete_rule, r.update_rule FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r ON r.constraint_schema = k.constraint_schema AND r.table_name = k.table_name AND r.constraint_name = k.constraint_name WHERE k.table_schema = DATABASE() AND k.constraint_schema = DATABASE() AND k.referenced_table_schema = DATABASE() ORDER BY k.table_name, k.constraint_name, k.ordinal_position'
const TRIGGERS =
  'SELECT event_object_table, trigger_name, event_manipulation FROM information_schema.triggers WHERE event_object_schema = DATABASE()'
const COLUMNS =
  "SELECT table_name, column_name, column_default, extra, data_type, is_nullable FROM information_schema.columns WHERE table_schema = DATABASE() AND (column_default IS NOT NULL OR extra LIKE '%auto_increment%' OR extra LIKE '%on update%' OR data_type = 'timestamp')"
const LASTING =
  "SELECT t.table_name, t.engine FROM information_schema.tables t LEFT JOIN information_schema.engines e ON e.engine = t.engine WHERE t.table_schema = DATABASE() AND t.table_type = 'BASE TABLE' AND COALESCE(e.transactions, 'NO') <> 'YES'"
/** NULL, numbers, texts and bytes: every shard fills in the same. */
const CONSTANT = /^(?:NULL|-?[\d.]+(?:e[+-]?\d+)?|[bx]?'(?:[^'\\]|''|\\.)*')$/is

export async function readMariadbEffects(session: Session): Promise<TableEffects> {
  const [keys, triggers, columns, lasting] = await Promise.all(
    [FOREIGN_KEYS, TRIGGERS, COLUMNS, LASTING].map(async text =>
      (await session.run(text)).rows.map(row => row.map(cell => (cell === null ? '' : String(cell)))),
    ),
  )
  return {
    foreignKeys: foreignKeysOf(keys!),
    triggers: triggers!.map(([table, name, on]) => ({ table: table!, name: name!, on: on!.toLowerCase() }) as Trigger),
    filled: columns!.map(filledOf).filter(({ when }) => when.length > 0),
    lasting: lasting!.map(([table, engine]) => ({ table: table!, engine: engine || 'unknown' })),
  }
}

/** `rows`: one for each column of a foreign key. */
function foreignKeysOf(rows: readonly (readonly string[])[]): readonly ForeignKey[] {
  const byName = new Map<string, (readonly string[])[]>()
  for (const row of rows) {
    const name = JSON.stringify(row.slice(0, 2))
    byName.set(name, [...(byName.get(name) ?? []), row])
  }
  return [...byName.values()].map(([first, ...more]) => {
    const [table, , , parent, , onDelete, onUpdate] = first!
    const columns = [first!, ...more]
    return {
      table: table!,
      columns: columns.map(row => row[2]!),
      parent: parent!,
      parentColumns: columns.map(row => row[4]!),
      onDelete: onDelete === 'CASCADE' ? 'delete' : isPassive(onDelete!) ? 'nothing' : 'update',
      onUpdate: isPassive(onUpdate!) ? 'nothing' : 'update',
    }
  })
}

function isPassive(rule: string): boolean {
  return rule === 'RESTRICT' || rule === 'NO ACTION'
}

function filledOf([table, name, initial, extra, type, isNullable]: readonly string[]): FilledColumn {
  const isCounted = extra!.includes('auto_increment')
  const isStamp = type === 'timestamp' && isNullable === 'NO'
  return {
    table: table!,
    name: name!,
    when: [
      ...(isCounted || (initial !== '' && !CONSTANT.test(initial!)) ? (['insert'] as const) : []),
      ...(extra!.includes('on update') ? (['update'] as const) : []),
      ...(isCounted || isStamp ? (['null'] as const) : []),
    ],
  }
}
