/**
 * What a server knew of its store, in a file of its own beside it: the id of the log, the highest position, and the access rules in force. A server that
 * starts again finds out by it that the store was put back meanwhile, and knows the rules that the backup lacks (docs/backups.md).
 *
 * The file is written when the rules change and when the store is closed; over an engine, every few seconds as well. Several processes may share it: what
 * has the higher version or position stays. A server that cannot keep the file goes on without; then only the engine's identity tells.
 *
 *     known-0123456789abcdef-2775204879901.json     a hash of the store's name, and since which version these rules have been in force
 *
 * So a backup of the folder that is copied over it leaves newer rules alone.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogPlace, Store } from '@freshet/core/store'
import { makeFolder } from '@freshet/engines/lmdb'
import type { KnownRules, RulesMemory } from '@freshet/server'
import { describeError, type Log } from '@freshet/server/configuration'
import { withoutPassword } from '../config/store-kind.js'

const WRITE_EVERY_MS = 5_000

interface Known extends LogPlace {
  readonly rules?: KnownRules | undefined
}

interface Found extends Known {
  readonly file: string
}

export class KnownFile implements RulesMemory {
  readonly #folder: string
  readonly #name: string
  readonly #log: Log
  #known: Known | undefined
  #store: Store | undefined
  #rules: KnownRules | undefined
  #writing: Promise<void> = Promise.resolve()
  #isTold = false

  private constructor(folder: string, name: string, log: Log, known: Known | undefined) {
    this.#folder = folder
    this.#name = name
    this.#log = log
    this.#known = known
    this.#rules = known?.rules
  }

  /** One for each store that is served from this folder. */
  static async open(folder: string, store: string, log: Log): Promise<KnownFile> {
    const name = `known-${createHash('sha256').update(withoutPassword(store)).digest('hex').slice(0, 16)}`
    return new KnownFile(folder, name, log, newestOf(await recallAll(folder, name)))
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
            `cannot write what this server knows of the store to ${this.#folder}`,
            describeError(error),
          )
        }
        this.#isTold = true
      }
    })
    return this.#writing
  }

  async #writeNow(store: Store): Promise<void> {
    const all = await recallAll(this.#folder, this.#name)
    const found = newestOf(all)
    const [log, reached] = [store.log, await store.position()]
    const position = found?.log === log ? Math.max(found.position, reached) : reached
    const rules = sinceOf(found) > (this.#rules?.since ?? -1) ? found?.rules : this.#rules
    await makeFolder(this.#folder)
    const file = join(this.#folder, `${this.#name}-${rules?.since ?? 0}.json`)
    const making = `${file}.${process.pid}`
    await writeFile(making, JSON.stringify({ log, position, rules }), { mode: 0o600, flush: true })
    await rename(making, file)
    for (const older of all.filter(each => each.file !== file)) await rm(older.file, { force: true })
  }
}

/** Of all files that can be read. */
async function recallAll(folder: string, name: string): Promise<readonly Found[]> {
  const names = await readdir(folder).catch(() => [])
  const files = names.filter(each => each.startsWith(`${name}-`) && each.endsWith('.json'))
  return (await Promise.all(files.map(each => recall(join(folder, each))))).filter(found => found !== undefined)
}

async function recall(file: string): Promise<Found | undefined> {
  try {
    const { log, position, rules } = JSON.parse(await readFile(file, 'utf8')) as Known
    if (typeof log !== 'string' || !Number.isSafeInteger(position)) return undefined
    return { file, log, position, rules: isRules(rules) ? rules : undefined }
  } catch {
    return undefined
  }
}

function newestOf(all: readonly Found[]): Found | undefined {
  return all.toSorted((one, other) => sinceOf(other) - sinceOf(one))[0]
}

function sinceOf(known: Known | undefined): number {
  return known?.rules?.since ?? -1
}

function isRules(rules: KnownRules | undefined): boolean {
  if (rules === undefined || rules === null) return false
  const { text, version, since, log } = rules
  const isText = text === null || typeof text === 'string'
  return isText && [version, since].every(Number.isSafeInteger) && typeof log === 'string'
}
