/**
 * Commits without pause, reports each commit once it is acknowledged, and waits to be killed. Each commit writes a key of its
 * own in each of two buckets, and adds 1 to a counter that all commits share. Arguments: the file, a name for its keys, the
 * number of concurrent commits.
 */
import { openSqliteStore } from '../index.js'

const [path, name, inFlight] = process.argv.slice(2) as [string, string, string]
const store = await openSqliteStore({ path })
let last = 0

async function commitOn(): Promise<void> {
  for (;;) {
    const id = `${name}-${++last}`
    const writes = ['a', 'b'].map(bucket => ({
      key: `crash/${bucket}/${id}`,
      contentType: 'text/plain',
      body: Buffer.from(id.repeat(1 + (last % 60))),
    }))
    const result = await store.commit({ writes, adds: [{ key: 'crash/n/all', by: 1, decimals: 0 }] })
    if (!result.committed) throw new Error('A commit without reads met a conflict.')
    process.send?.([id, result.position])
  }
}

await Promise.all(Array.from({ length: Number(inFlight) }, commitOn))
