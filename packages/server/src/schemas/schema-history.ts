/** Every schema that a bucket had, each under a key of its own that no request can name, written once. */
import type { Store, Write } from '@freshet/core/store'
import type { JsonSchema, Key, SchemaVersion } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'

const SCHEMAS: Key = '_freshet/schemas'
const PAGE = 1000

type StoredVersion = Omit<SchemaVersion, 'position'>

/** `schema` undefined: from now on it has none. */
export function historyWrite(
  bucket: Key,
  { schema, ...rest }: Omit<StoredVersion, 'schema'> & { readonly schema: JsonSchema | undefined },
): Write {
  const stored: StoredVersion = { ...rest, schema: schema ?? null }
  const id = prefixOf(bucket) + `${rest.version}`.padStart(9, '0')
  return { key: `${SCHEMAS}/${id}`, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(stored)) }
}

export async function readHistory(store: Store, bucket: Key): Promise<readonly SchemaVersion[]> {
  const versions: SchemaVersion[] = []
  for (let after: string | undefined; ; ) {
    const range = { prefix: prefixOf(bucket), limit: PAGE, ...(after === undefined ? {} : { after }) }
    const { entries, next } = await store.scan(SCHEMAS, range)
    for (const { body, version } of entries) {
      versions.push({ ...(JSON.parse(new TextDecoder().decode(body)) as StoredVersion), position: version })
    }
    if (next === undefined) return versions
    after = next
  }
}

function prefixOf(bucket: Key): string {
  return `${bucket.replace('/', ':')}:`
}
