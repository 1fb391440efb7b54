/** For tests: an SQL database that can be killed, lines to it that can be cut, and stores over it, all closed after each test. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import type { Store } from '@freshet/core/store'
import { afterAll, afterEach } from 'vitest'
import { CuttingLine } from './cutting-line.js'

export interface SqlDatabase {
  readonly port: number
  readonly url: string
  readonly folder: string
  readonly data: string
  kill(): Promise<void>
  /** Shuts it down in good order, if the database can. */
  shutDown?(): Promise<void>
  startAgain(): Promise<void>
}

export interface SqlStoreSettings {
  readonly url: string
  /** The schema, or the prefix of the tables, of this store alone. */
  readonly space: string
  readonly waitMsMax: number
  readonly patienceMs?: number
  readonly onWarning?: (text: string) => void
}

/** What differs between engines. */
export interface SqlUnderTest {
  start(): Promise<SqlDatabase>
  end(): Promise<void>
  open(settings: SqlStoreSettings): Promise<Store>
  /** Bytes of the message that contains COMMIT. */
  readonly committing: string
  /** See `CuttingLine`. Default: PostgreSQL's protocol. */
  readonly isAnswered?: (bytes: Buffer) => boolean
}

const WAIT_MS_MAX = 60_000

export class SqlStage {
  readonly engine: SqlUnderTest
  readonly #toClose: { close(): Promise<unknown> }[] = []
  #spaces = 0

  /** Call where tests are declared. */
  constructor(engine: SqlUnderTest) {
    this.engine = engine
    afterEach(async () => {
      for (const each of this.#toClose.splice(0).reverse()) await each.close()
    })
    afterAll(() => engine.end())
  }

  closeLater(closed: { close(): Promise<unknown> }): void {
    this.#toClose.push(closed)
  }

  /** A name that no other store has. */
  space(): string {
    return `stage_${++this.#spaces}_`
  }

  async open(settings: Pick<SqlStoreSettings, 'url'> & Partial<SqlStoreSettings>): Promise<Store> {
    const store = await this.engine.open({ space: this.space(), waitMsMax: WAIT_MS_MAX, ...settings })
    this.closeLater(store)
    return store
  }

  async line({ port }: Pick<SqlDatabase, 'port'>): Promise<CuttingLine> {
    const line = await CuttingLine.open(port, this.engine.isAnswered)
    this.closeLater(line)
    return line
  }
}

/** The URL of the database at another port. */
export function urlAt({ url, port }: Pick<SqlDatabase, 'url' | 'port'>, otherPort: number): string {
  return url.replace(`:${port}`, `:${otherPort}`)
}

/** Kills the database and keeps a copy of its data; the returned function restores the copy. */
export async function killAndCopy(database: SqlDatabase): Promise<() => Promise<void>> {
  await database.kill()
  const copy = `${database.folder}/copy`
  execFileSync('cp', ['-a', database.data, copy])
  return async () => {
    await database.kill()
    rmSync(database.data, { recursive: true })
    execFileSync('cp', ['-a', copy, database.data])
  }
}
