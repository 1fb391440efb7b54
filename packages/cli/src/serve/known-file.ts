/**
 * What a server knew of its store, in a file of its own beside it: the id of the log, the highest position, and the access rules in force. A server that
 * starts again finds out by it that the store was put back meanwhile, and knows the rules that the backup lacks (docs/backups.md).
 *
 * The file is written when the rules change and when the store is closed; over an engine, every few seconds as well. Several processes may share it: what
 * has the higher version or position stays. A server that cannot keep the file goes on without; then only the engine's identity tells.
 */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { LogPlace, Store } from '@freshet/core/store'
import { describeError, type KnownRules, type Log, type RulesMemory } from '@freshet/server'
import { withoutPassword } from '../config/store-kind.js'

const WRITE_EVERY_MS = 5_000

interface Known extends LogPlace {
  readonly rules?: KnownRules | undefined
}

export class KnownFile implements RulesMemory {
  readonly #file: string
  readonly #log: Log
  #known: Known | undefined
  #store: Store | undefined
  #rules: KnownRules | undefined
  #writing: Promise<void> = Promise.resolve()
  #isTold = false

  private constructor(file: string, log: Log, known: Known | undefined) {
    this.#file = file
    this.#log = log
    this.#known = known
    this.#rules = known?.rules
  }

  /** One for each store that is served from this folder. */
  static async open(folder: string, store: string, log: Log): Promise<KnownFile> {
    const name = createHash('sha256').update(withoutPassword(store)).digest('hex').slice(0, 16)
    const file = join(folder, `known-${name}.json`)
    return new KnownFile(file, log, await recall(file))
  }

  /** By an earlier process. */
  get place(): LogPlace | undefined {
    return this.#known
  }

  /** By an earlier process. */
  get known(): KnownRules | undefined {
    return this.#known?.rules
  }

  /** Notes the place of the store until it is closed. `everyMs`: 0, only then. */
  follow(store: Store, everyMs: number = WRITE_EVERY_MS): void {
    this.#store = store
    const timer = everyMs > 0 ? setInterval(() => void this.#write(), everyMs).unref() : undefined
    const close = store.close.bind(store)
    store.close = async () => {
      clearInterval(timer)
      await this.#write()
      await close()
    }
  }

  note(rules: KnownRules): Promise<void> {
    this.#rules = rules
    return this.#write()
  }

  /** One after the other. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      try {
        await this.#writeNow(this.#store!)
      } catch (error) {
        if (!this.#isTold) {
          this.#log.write(
            'info',
            `cannot write what this server knows of the store to ${this.#file}`,
            describeError(error),
          )
        }
        this.#isTold = true
      }
    })
    return this.#writing
  }

  async #writeNow(store: Store): Promise<void> {
    const found = await recall(this.#file)
    const [log, reached] = [store.log, await store.position()]
    const position = found?.log === log ? Math.max(found.position, reached) : reached
    const isFoundNewer = found?.rules !== undefined && found.rules.version > (this.#rules?.version ?? -1)
    const known: Known = { log, position, rules: isFoundNewer ? found.rules : this.#rules }
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
    const making = `${this.#file}.${process.pid}`
    await writeFile(making, JSON.stringify(known), { mode: 0o600, flush: true })
    await rename(making, this.#file)
  }
}

/** Undefined if there is none, or none that can be read. */
async function recall(file: string): Promise<Known | undefined> {
  try {
    const { log, position, rules } = JSON.parse(await readFile(file, 'utf8')) as Known
    if (typeof log !== 'string' || !Number.isSafeInteger(position)) return undefined
    return { log, position, rules: isRules(rules) ? rules : undefined }
  } catch {
    return undefined
  }
}

function isRules(rules: KnownRules | undefined): boolean {
  if (rules === undefined || rules === null) return false
  const { text, version, log } = rules
  return (text === null || typeof text === 'string') && Number.isSafeInteger(version) && typeof log === 'string'
}
