/**
 * The behaviour of a store whose file has flipped bytes: it must refuse to open, or answer each read correctly or with
 * STORE_DAMAGED. Used by tests, and by `npm run lab -- damage` on many more files.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FreshetError } from '@freshet/protocol'
import { type EmbeddedStore, openEmbeddedStore } from '../embedded-store.js'

/** A whole number from 0 to `limit` - 1. */
export type Below = (limit: number) => number

export interface Flip {
  readonly offset: number
  /** The byte is combined with it by exclusive or: 1 to 255. */
  readonly mask: number
}

/**
 * 'harmless': everything was as before. 'refused': the store did not open. 'reported': it opened, some reads threw
 * STORE_DAMAGED, and all others were correct. 'wrong': a read returned something that was never written, or left something
 * out.
 */
export type Outcome = 'harmless' | 'refused' | 'reported' | 'wrong'

export interface Verdict {
  readonly outcome: Outcome
  /** What was wrong. */
  readonly what?: string
}

const BUCKET = 'shop/products'
const SETTINGS = { key: BUCKET, contentType: 'application/json', indexes: [{ name: 'kind', fields: ['kind'] }] }
const KINDS = 7

export class DamagedFiles {
  readonly #path: string
  readonly #pristine: Buffer
  readonly #truth: readonly Answer[]

  /** Creates a store in the folder, and records its answers. */
  static async make(path: string, below: Below, objects: number): Promise<DamagedFiles> {
    await rm(path, { recursive: true, force: true })
    await mkdir(path, { recursive: true })
    const store = await openEmbeddedStore({ path })
    await fill(store, below, objects)
    const truth = await ask(store)
    await store.close()
    return new DamagedFiles(path, readFileSync(join(path, 'data.mdb')), truth)
  }

  private constructor(path: string, pristine: Buffer, truth: readonly Answer[]) {
    this.#path = path
    this.#pristine = pristine
    this.#truth = truth
  }

  randomFlip(below: Below): Flip {
    return { offset: below(this.#pristine.length), mask: 1 + below(255) }
  }

  /** Opens the store with these flips, reads all of it, writes to it, opens it again and reads again. */
  async judge(flips: readonly Flip[]): Promise<Verdict> {
    this.#putFile(flips)
    try {
      const first = await this.#readAll()
      if (first.outcome === 'wrong') return first
      const second = await this.#readAll()
      return second.outcome === 'wrong' || first.outcome === 'harmless' ? second : first
    } catch (error) {
      if (isDamage(error)) return { outcome: 'refused' }
      return { outcome: 'wrong', what: `it failed in another way: ${String(error)}` }
    }
  }

  #putFile(flips: readonly Flip[]): void {
    const bytes = Buffer.from(this.#pristine)
    for (const { offset, mask } of flips) bytes[offset]! ^= mask
    // Without `.reached` the store cannot detect that an older file was restored, which would begin another log.
    for (const name of ['data.mdb-lock', 'writer.lock', '.reached']) rmSync(join(this.#path, name), { force: true })
    writeFileSync(join(this.#path, 'data.mdb'), bytes)
  }

  async #readAll(): Promise<Verdict> {
    const store = await openEmbeddedStore({ path: this.#path })
    try {
      const found = await ask(store)
      const wrong = found.find(({ text }, i) => text !== undefined && text !== this.#truth[i]!.text)
      if (wrong !== undefined) return { outcome: 'wrong', what: wrong.what }
      for (let i = 0; i < 20; i++) await store.commit({ writes: [{ key: `other/bucket/${i}`, ...textOf(`${i}`) }] })
      return { outcome: found.some(({ text }) => text === undefined) ? 'reported' : 'harmless' }
    } finally {
      await store.close()
    }
  }
}

interface Answer {
  readonly what: string
  /** Undefined: STORE_DAMAGED. */
  readonly text: string | undefined
}

function textOf(text: string): { readonly contentType: string; readonly body: Buffer } {
  return { contentType: 'application/json', body: Buffer.from(text) }
}

async function fill(store: EmbeddedStore, below: Below, objects: number): Promise<void> {
  await store.commit({ writes: [{ ...SETTINGS, body: Buffer.from('{}') }] })
  for (let i = 0; i < objects; ) {
    const writes = []
    for (let j = 0; j < 16; j++, i++) {
      const length = below(20) === 0 ? below(9000) : below(300)
      writes.push({ key: keyOf(i), ...textOf(JSON.stringify({ kind: below(KINDS), text: 'x'.repeat(length) })) })
    }
    const id = { kind: 'foreign', id: `order-${i}` } as const
    await store.commit({ writes, operation: { id, fingerprint: 'f' } })
  }
  // This frees some pages.
  for (let i = 0; i < objects; i += 5) await store.commit({ writes: [{ key: keyOf(i), delete: true }] })
  await store.remember('note', Buffer.from('remembered'))
  await ready(store)
}

function keyOf(i: number): string {
  return `${BUCKET}/object-${i}`
}

async function ready(store: EmbeddedStore): Promise<void> {
  while ((await store.indexes(BUCKET)).some(({ isReady }) => !isReady)) await new Promise(setImmediate)
}

/** Every kind of read, in a fixed order, without the data that later writes change. */
async function ask(store: EmbeddedStore): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  const note = async (what: string, read: () => unknown) => {
    try {
      answers.push({ what, text: JSON.stringify(await read()) ?? 'nothing' })
    } catch (error) {
      if (!isDamage(error)) throw error
      answers.push({ what, text: undefined })
    }
  }
  await note('the first of the list', async () => (await store.scan(BUCKET, { limit: 1 })).entries.length)
  for (let i = 0; i < 400; i++) await note(`object ${i}`, () => contentOf(store.get(keyOf(i))))
  await note('a list', async () => (await store.scan(BUCKET, { limit: 1000 })).entries.map(plainEntry))
  for (let kind = 0; kind < KINDS; kind++) {
    await note(`a query for ${kind}`, async () => {
      const { entries: found } = await store.query(BUCKET, { where: { kind }, limit: 1000 } as never)
      return found.map(plainEntry)
    })
  }
  await note('the settings', () => contentOf(store.get(BUCKET)))
  await note('the version of a list', async () => (await store.scan(BUCKET, { limit: 1 })).version)
  await note('the log', async () => {
    const changes = await store.changes(await store.trimmedTo(), 100_000)
    return changes.filter(({ keys }) => keys.some(key => key.startsWith(BUCKET)))
  })
  await note('what is remembered', async () => Buffer.from((await store.recall('note')) ?? []).toString())
  return answers
}

async function contentOf(value: ReturnType<EmbeddedStore['get']>): Promise<unknown> {
  const found = await value
  return found && plainEntry(found)
}

function plainEntry(entry: {
  readonly version: number
  readonly contentType: string
  readonly body: Uint8Array
}): unknown {
  return { ...entry, body: Buffer.from(entry.body).toString('latin1') }
}

function isDamage(error: unknown): boolean {
  return error instanceof FreshetError && error.code === 'STORE_DAMAGED'
}
