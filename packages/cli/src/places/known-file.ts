/**
 * What a server knew of its store, in a file of its own beside it: the id of the log, the highest position, and the access rules
 * in force. When the server starts again, this shows whether the store was put back meanwhile, and gives the rules that a backup
 * lacks (docs/guides/backups.md).
 *
 * The file is written when the rules change and when the store is closed; over an engine, every few seconds as well. Several
 * processes may share it: the higher version and position win. A server that cannot write the file runs without it; then only the
 * engine's own identity shows that a store was put back.
 *
 *     known-0123456789abcdef-2775204879901.json     a hash of the store's name, and the version since which these rules are in force
 *
 * The version in the name keeps newer rules from being overwritten when a backup of the folder is copied over it.
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
  #isReported = false

  private constructor(folder: string, name: string, log: Log, known: Known | undefined) {
    this.#folder = folder
    this.#name = name
    this.#log = log
    this.#known = known
    this.#rules = known?.rules
  }

  /** Opens the file of one store; a folder has one for each store that is served from it. */
  static async open(folder: string, store: string, log: Log): Promise<KnownFile> {
    const name = `known-${createHash('sha256').update(withoutPassword(store)).digest('hex').slice(0, 16)}`
    return new KnownFile(folder, name, log, newestOf(await recallAll(folder, name)))
  }

  /** The place of the store, as an earlier process saw it. */
  get place(): LogPlace | undefined {
    return this.#known
  }

  /** The rules, as an earlier process knew them. */
  get known(): KnownRules | undefined {
    return this.#known?.rules
  }

  /** Records the place of the store until it is closed, every `everyMs`; with 0, only when it is closed. */
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

  /** Writes one after the other. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      try {
        await this.#writeNow(this.#store!)
      } catch (error) {
        if (!this.#isReported) {
          this.#log.write(
            'info',
            `cannot write what this server knows of the store to ${this.#folder}`,
            describeError(error),
          )
        }
        this.#isReported = true
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

/** The content of all files that can be read. */
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
