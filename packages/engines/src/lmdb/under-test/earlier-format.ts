/** Turns a store into one that an earlier version would have left: format 3, whose records have no checksums. Uses LMDB alone. */
import { join } from 'node:path'
import { open } from 'lmdb'
import { KEYS_OF_TABLE, NAME_OF_TABLE } from '../environment.js'

const CHECKSUM_BYTES = 4

export async function makeEarlierFormat(path: string): Promise<void> {
  const root = open({ path: join(path, 'data.mdb'), noSubdir: true, encoding: 'binary', maxDbs: 16 })
  for (const name of Object.values(NAME_OF_TABLE)) {
    const isMeta = name === NAME_OF_TABLE.meta
    const options = { encoding: 'binary' as const, keyEncoder: KEYS_OF_TABLE[name], useVersions: isMeta }
    const table = root.openDB<Buffer, string>(name, options)
    const records = [...table.getRange({})].map(({ key, value }) => ({ key, value: Buffer.from(value) }))
    root.transactionSync(() => {
      for (const { key, value } of records) {
        const bare = value.subarray(0, value.length - CHECKSUM_BYTES)
        const stored = isMeta && key === 'format' ? Buffer.from(Uint32Array.of(3).buffer) : bare
        isMeta ? table.put(key, stored, 1) : table.put(key, stored)
      }
    })
  }
  await root.close()
}
