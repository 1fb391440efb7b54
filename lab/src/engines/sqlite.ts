/** A SQLite file in a temporary folder: an engine with no server to start. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SqliteFile {
  /** In the form that `--store` takes. */
  readonly url: string
  stop(): Promise<void>
}

export async function createSqliteFile(): Promise<SqliteFile> {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-sqlite-'))
  return {
    url: `sqlite:${join(folder, 'shop.db')}`,
    stop: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** Another file in the same folder. */
export function sqlitePathBeside(url: string, name: string): string {
  return join(url.slice('sqlite:'.length), '..', `${name}.db`)
}
