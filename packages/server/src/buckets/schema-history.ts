/** Every schema that a bucket has had. Each is written once, under its own key, which no request can name. */
import type { Store, StoredEntry, Write } from '@freshet/core/store'
import type { JsonSchema, Key, SchemaVersion } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'

const SCHEMAS: Key = '_freshet/schemas'
const PAGE = 1000

type StoredVersion = Omit<SchemaVersion, 'position'>

/** `schema` undefined: the bucket has no schema from now on. */
export function historyWrite(
  bucket: Key,
  { schema, ...rest }: Omit<StoredVersion, 'schema'> & { readonly schema: JsonSchema | undefined },
): Write {
  const stored: StoredVersion = { ...rest, schema: schema ?? null }
  const id = prefixOf(bucket) + `${rest.version}`.padStart(9, '0')
  return { key: `${SCHEMAS}/${id}`, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(stored)) }
}

export async function readHistory(store: Store, bucket: Key): Promise<readonly SchemaVersion[]> {
  return (await readEntries(store, bucket)).map(({ body, version }) => ({
    ...(JSON.parse(new TextDecoder().decode(body)) as StoredVersion),
    position: version,
  }))
}

/** The writes that remove the whole history. */
export async function forgetHistory(store: Store, bucket: Key): Promise<readonly Write[]> {
  return (await readEntries(store, bucket)).map(({ id }) => ({ key: `${SCHEMAS}/${id}`, delete: true }))
}

async function readEntries(store: Store, bucket: Key): Promise<readonly StoredEntry[]> {
  const found: StoredEntry[] = []
  for (let after: string | undefined; ; ) {
    const range = { prefix: prefixOf(bucket), limit: PAGE, ...(after === undefined ? {} : { after }) }
    const { entries, next } = await store.scan(SCHEMAS, range)
    found.push(...entries)
    if (next === undefined) return found
    after = next
  }
}

function prefixOf(bucket: Key): string {
  return `${bucket.replace('/', ':')}:`
}
