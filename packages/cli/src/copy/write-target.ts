/**
 * Writes to the target in commits that it accepts: each engine limits their size by its own settings (Cassandra a record of its
 * log to some MiB, MariaDB a packet). So commits are small, and one that is still too large is halved.
 */
import type { Position, Store, Write } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'

const BYTES = 1024 * 1024

/** The position of the last commit. Throws LIMIT_EXCEEDED with the key if the target cannot store one object by itself. */
export async function writeTarget(to: Store, writes: readonly Write[]): Promise<Position | undefined> {
  let position: Position | undefined
  for (const part of partsOf(writes)) position = await commit(to, part)
  return position
}

function partsOf(writes: readonly Write[]): readonly (readonly Write[])[] {
  const parts: Write[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const write of writes) {
    const more = 'body' in write ? write.body.length : 0
    if (bytes + more > BYTES) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)!.push(write)
    bytes += more
  }
  return parts
}

async function commit(to: Store, writes: readonly Write[]): Promise<Position | undefined> {
  try {
    const result = await to.commit({ writes })
    return result.committed ? result.position : undefined
  } catch (error) {
    if (!(error instanceof FreshetError) || error.code !== 'LIMIT_EXCEEDED') throw error
    if (writes.length === 1) throw tooLarge(writes[0]!, error)
    const middle = Math.ceil(writes.length / 2)
    await commit(to, writes.slice(0, middle))
    return commit(to, writes.slice(middle))
  }
}

function tooLarge({ key }: Write, cause: FreshetError): FreshetError {
  return new FreshetError('LIMIT_EXCEEDED', `The target cannot store ${key}: ${cause.message}`, { cause })
}
