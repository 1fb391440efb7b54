/**
 * Builds indexes in the background, step by step. The script that writes entries also writes how far the build has come. So
 * after a crash any server goes on from there, and if two servers build at once, only one of them takes each step.
 *
 * Dropped indexes need no upkeep: an index is one key, and the commit that drops the index deletes it.
 */
import { advance, unbuiltOf } from '@freshet/core/commit'
import type { Key } from '@freshet/core/store'
import { UpkeepLoop } from '@freshet/store/commits'
import { STEP_OBJECTS } from '@freshet/store/database'
import { encodeIndexes } from '@freshet/store/indexes'
import { decodeValue } from '@freshet/store/records'
import { type Argument, Script } from './client.js'
import { type DeclaredIndexes, type KnownIndexes, recordOf } from './declared-indexes.js'
import { BUILD_INDEX_SCRIPT } from './index-scripts.js'
import { packParts } from './message-pack.js'
import { idSource, NO_SOURCE, type RedisReader, type Row, readState } from './read-state.js'

export interface RedisIndexUpkeepOptions {
  readonly reader: RedisReader
  readonly known: KnownIndexes
  /** Runs a script that may be run again. `keys`: the keys that it uses besides the head. */
  readonly run: (script: Script, args: readonly Argument[], keys: readonly string[]) => Promise<unknown>
}

/** How often to look whether another server has left an index unfinished. */
const LOOK_EVERY_MS = 10_000
const buildScript = new Script(BUILD_INDEX_SCRIPT)

export class RedisIndexUpkeep {
  readonly #options: RedisIndexUpkeepOptions
  readonly #timer: NodeJS.Timeout
  readonly #loop = new UpkeepLoop(() => this.#buildAll())

  constructor(options: RedisIndexUpkeepOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.wake(), LOOK_EVERY_MS).unref()
    this.wake()
  }

  /** Looks whether there is something to do. */
  wake(): void {
    this.#loop.wake()
  }

  /** Resolves when no step is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#loop.stop()
  }

  async #buildAll(): Promise<void> {
    const { reader } = this.#options
    const buckets = (await reader.command(['SMEMBERS', reader.layout.unbuilt])) as readonly Buffer[]
    for (const bucket of buckets) while (!this.#loop.isStopped && (await this.#step(String(bucket))));
  }

  /** False if there was nothing to do. */
  async #step(bucket: Key): Promise<boolean> {
    const { reader, run } = this.#options
    const { layout } = reader
    const { indexes, text } = await this.#declared(bucket)
    const unbuilt = unbuiltOf(indexes)
    const [first] = unbuilt
    if (first === undefined) return false
    const total = first.total || Number(await reader.command(['ZCARD', layout.ids + bucket]))
    const rows = await this.#rowsAfter(bucket, first.cursor)
    const ids = rows.map(({ member }) => String(member))
    const objects = rows.map(({ record }, i) => {
      const value = record ? decodeValue(record, record.length) : undefined
      // A damaged value is reported to the caller that reads it.
      return value ? [ids[i]!, value.version, recordOf(indexes, value)] : [ids[i]!, 0, []]
    })
    const cursor = ids.length < STEP_OBJECTS ? undefined : ids.at(-1)
    const after = indexes.map(index =>
      unbuilt.includes(index) ? advance(index, ids.length, { cursor, total }) : index,
    )
    const isReady = after.every(index => index.isReady)
    const keys = [layout.indexes, layout.unbuilt, layout.indexed + bucket]
    keys.push(
      ...indexes.map(({ number }) => layout.entries + number),
      ...ids.map(id => `${layout.values}${bucket}/${id}`),
    )
    const args = [bucket, text, Buffer.from(encodeIndexes(after)), isReady ? '1' : '0', packParts(objects)]
    await run(buildScript, args, keys)
    return true
  }

  async #declared(bucket: Key): Promise<DeclaredIndexes> {
    const { reader, known } = this.#options
    const wanted = { hasIndexes: true, tags: [], source: NO_SOURCE, ranges: [], count: 0 }
    const { declared } = await readState(reader, bucket, wanted, known.of(bucket))
    known.learn(bucket, declared)
    return declared
  }

  async #rowsAfter(bucket: Key, cursor: string | undefined): Promise<readonly Row[]> {
    const { reader, known } = this.#options
    const range = { low: Buffer.from(cursor === undefined ? '-' : `(${cursor}`), high: Buffer.from('+') }
    const wanted = {
      hasIndexes: false,
      tags: [],
      source: idSource(bucket, false),
      ranges: [range],
      count: STEP_OBJECTS,
    }
    const { chunks } = await readState(reader, bucket, wanted, known.of(bucket))
    return chunks[0] ?? []
  }
}
