/**
 * The statements about exposed tables.
 *
 * Any program that changes an exposed table makes a trigger note the ids of the rows in `incoming`, in the same transaction.
 * So only committed changes are noted, and all of them are. And no other program waits for Freshet, or makes it wait, because
 * a trigger takes no lock. Freshet takes the notes (`take`) in its next transaction, under the lock of the head, and gives
 * them positions; before it answers any request, it checks whether there are notes (`head`). One statement both takes the
 * notes and reads the rows, so the changes of another program's transaction are taken as a whole or not at all.
 */
import { createHash } from 'node:crypto'
import type { ExposedTable } from '../../sql/tables/exposed-table.js'
import { hasId, idOf, keyValues, nameOf, quoteName, quoteText, rowJson } from './row-sql.js'

/** For all tables: the notes, and the present rows. `$1`: how many notes at most. */
export function takeStatement(tables: readonly ExposedTable[], isBackfill: boolean): string {
  const there = tables.filter(({ isGone }) => !isGone)
  const which = isBackfill ? '' : 'WHERE NOT is_backfill'
  return `
    WITH taken AS (
      DELETE FROM incoming WHERE seq = ANY (ARRAY(SELECT seq FROM incoming ${which} ORDER BY seq LIMIT $1)) RETURNING exposed, id
    ), wanted AS (SELECT DISTINCT exposed, id FROM taken)
    SELECT NULL::integer AS number, count(*)::text AS id, NULL AS body FROM taken
    ${there.map(takeOne).join('')}`
}

/** Only rows that differ from the bucket's objects, because a row may be noted twice. */
function takeOne(table: ExposedTable): string {
  const key = `${quoteText(`${table.bucket}/`)} || w.id`
  return `
    UNION ALL SELECT ${table.number}, w.id, f.body::text FROM wanted w
    LEFT JOIN LATERAL (SELECT ${rowJson(table)} AS body FROM ${nameOf(table)} t WHERE ${hasId(table, 'w.id')}) f ON true
    LEFT JOIN objects o ON o.key = ${key}
    WHERE w.exposed = ${table.number} AND CASE WHEN f.body IS NULL THEN o.key IS NOT NULL
      ELSE o.key IS NULL OR NOT (${isSame(table, `convert_from(o.body, 'UTF8')`, 'f.body')}) END`
}

/**
 * A json column may hold what jsonb cannot. Its text is compared then, which may report a difference that does not exist, but
 * never misses one.
 */
function isSame({ columns }: ExposedTable, text: string, json: string): string {
  const isSpelled = columns.some(({ baseType }) => /^json\b/.test(baseType))
  return isSpelled ? `${text} = ${json}::text` : `${text}::jsonb = ${json}::jsonb`
}

/** `$1`: ids, `$2`: the objects. A field that an object lacks becomes the column's default. */
export function putRows(table: ExposedTable): string {
  const columns = table.columns.filter(({ isGenerated, name }) => !isGenerated && !table.key.includes(name))
  const names = [...table.key, ...columns.map(({ name }) => name)].map(quoteName)
  const values = keyValues(table, 'g.id')
  const fields = [
    ...table.key.map((name, i) => `${quoteText(name)}, ${values[i]}`),
    ...columns.map(({ name, defaultValue }) => {
      const field = `g.body -> ${quoteText(name)}`
      const otherwise = defaultValue === undefined ? `'null'` : `to_jsonb(${defaultValue})`
      return `${quoteText(name)}, CASE WHEN g.body ? ${quoteText(name)} THEN ${field} ELSE ${otherwise} END`
    }),
  ]
  const sets = columns.map(({ name }) => `${quoteName(name)} = EXCLUDED.${quoteName(name)}`)
  const onConflict = sets.length === 0 ? 'DO NOTHING' : `DO UPDATE SET ${sets.join(', ')}`
  return `
    INSERT INTO ${nameOf(table)} (${names.join(', ')}) OVERRIDING SYSTEM VALUE
    SELECT ${names.map(name => `r.${name}`).join(', ')}
    FROM (SELECT id, body::jsonb AS body FROM unnest($1::text[], $2::text[]) AS each(id, body)) g
    CROSS JOIN LATERAL jsonb_populate_record(NULL::${nameOf(table)}, jsonb_build_object(${fields.join(', ')})) r
    ON CONFLICT (${table.key.map(quoteName).join(', ')}) ${onConflict}`
}

/** `$1`: ids. */
export function removeRows(table: ExposedTable): string {
  return `DELETE FROM ${nameOf(table)} t USING unnest($1::text[]) AS g(id) WHERE ${hasId(table, 'g.id')}`
}

/**
 * For rows that were just written or removed (`$1`: ids, `$2`: objects, or NULL), deletes the trigger's note if the row now
 * equals the object. Otherwise the note remains: defaults, rounding or other triggers have changed the row, and that change
 * comes after. Returns whether another program has also changed any of these rows since they were read.
 */
export function settleRows(table: ExposedTable): string {
  return `
    WITH given AS (SELECT * FROM unnest($1::text[], $2::text[]) AS g(id, body)), settled AS (
      DELETE FROM incoming i USING given g
      LEFT JOIN LATERAL (SELECT ${rowJson(table)} AS body FROM ${nameOf(table)} t WHERE ${hasId(table, 'g.id')}) f ON true
      WHERE i.exposed = ${table.number} AND i.id = g.id AND i.xid = pg_current_xact_id()
        AND (g.body IS NULL AND f.body IS NULL OR ${isSame(table, 'g.body', 'f.body')}))
    SELECT EXISTS (
      SELECT FROM incoming i JOIN given g ON i.id = g.id
      WHERE i.exposed = ${table.number} AND i.xid <> pg_current_xact_id() AND NOT i.is_backfill)`
}

/** The name of a prepared statement: another text has another name. */
export function nameFor(kind: string, text: string): string {
  return `${kind}_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}

function functionOf(schema: string, { number }: ExposedTable): string {
  return `${schema}.note_${number}`
}

function triggersOf(schema: string, { number }: ExposedTable): readonly [change: string, truncate: string] {
  return [`freshet_${schema}_${number}`, `freshet_${schema}_${number}_truncate`]
}

/** SECURITY DEFINER: any user who may write the table may write the note, whatever other rights it has. */
export function createTriggers(schema: string, channel: string, table: ExposedTable): string {
  const { number, bucket } = table
  const [onChange, onTruncate] = triggersOf(schema, table)
  const note = (row: string) => `INSERT INTO ${schema}.incoming (exposed, id) VALUES (${number}, ${idOf(table, row)});`
  const folder = `${bucket}/`
  const name = functionOf(schema, table)
  return `
    CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO ${schema}.incoming (exposed, id) SELECT ${number}, substr(key, ${folder.length + 1}) FROM ${schema}.objects
        WHERE key >= ${quoteText(folder)} AND key < ${quoteText(`${bucket}0`)};
      ELSE
        IF TG_OP <> 'INSERT' THEN ${note('OLD')} END IF;
        IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND ${idOf(table, 'NEW')} <> ${idOf(table, 'OLD')} THEN ${note('NEW')} END IF;
      END IF;
      PERFORM pg_notify(${quoteText(channel)}, '');
      RETURN NULL;
    END $body$;
    ${dropTriggers(schema, table)}
    CREATE TRIGGER ${onChange} AFTER INSERT OR UPDATE OR DELETE ON ${nameOf(table)} FOR EACH ROW EXECUTE FUNCTION ${name}();
    CREATE TRIGGER ${onTruncate} AFTER TRUNCATE ON ${nameOf(table)} FOR EACH STATEMENT EXECUTE FUNCTION ${name}();
    ALTER TABLE ${nameOf(table)} ENABLE ALWAYS TRIGGER ${onChange}, ENABLE ALWAYS TRIGGER ${onTruncate};`
}

function dropTriggers(schema: string, table: ExposedTable): string {
  return triggersOf(schema, table)
    .map(trigger => `DROP TRIGGER IF EXISTS ${trigger} ON ${nameOf(table)};`)
    .join(' ')
}

/** A table that was dropped has no triggers left. */
export function removeTriggers(schema: string, table: ExposedTable, isThere: boolean): string {
  const triggers = isThere ? dropTriggers(schema, table) : ''
  return `${triggers} DROP FUNCTION IF EXISTS ${functionOf(schema, table)}();`
}

/** Notes every present row. */
export function noteAll(table: ExposedTable): string {
  return `INSERT INTO incoming (exposed, id, is_backfill) SELECT ${table.number}, ${idOf(table, 't')}, true FROM ${nameOf(table)} t`
}
