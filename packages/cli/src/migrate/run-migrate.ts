/**
 * `freshet migrate`: runs the migrations of a folder that a server has not run yet, in order. This command changes the objects,
 * with a function from the migration's file. The server checks every write against the new schema from the start, and checks at
 * the end whether every object satisfies it. Killed at any time, a migration continues when the command is run again.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { connect, type Database, FreshetError, type Task, violationsOf } from '@freshet/client'
import type { BucketAnswer, BucketChange, BucketSettings, SchemaList, TaskAction } from '@freshet/protocol'
import { authorizationOf, callServer } from '../places/call-server.js'
import { ProgressLine } from '../terminal/progress.js'
import { tellFailure } from '../terminal/tell-failure.js'
import type { MigrateLine } from './migrate-line.js'
import { migrateObjects } from './migrate-objects.js'
import { type MigrationFile, readMigrations } from './read-migrations.js'

const POLL_MS = 50
const VIOLATIONS_SHOWN = 5

/** Prints one line, as text or as JSON. */
type Print = (
  report: { readonly name?: string; readonly outcome: string; readonly changed?: number },
  text: string,
) => void

export async function runMigrate({ url, folder, isJson }: MigrateLine): Promise<number> {
  const print: Print = (report, text) => console.log(isJson ? JSON.stringify(report) : text)
  const progress = new ProgressLine()
  const migrations = await readMigrations(folder)
  if (migrations.length === 0)
    print({ outcome: 'none' }, `There are no migrations in ${folder}: no files such as 0001-name.mjs.`)
  let db: Database | undefined
  try {
    db = await connect(url, { memoryBytesMax: 0, ...authorizationOf(process.env) })
    for (const migration of migrations) await migrate(url, db, migration, print, progress)
    return 0
  } catch (error) {
    if (!(error instanceof FreshetError) || error.code === 'CONFIG_INVALID') throw error
    progress.clear()
    const violations = violationsOf(error).slice(0, VIOLATIONS_SHOWN)
    tellFailure(error, isJson, violations.length > 0 ? { violations } : {})
    if (!isJson) for (const { path, at, expected } of violations) console.error(`  ${path} ${at}: expected ${expected}`)
    return 1
  } finally {
    db?.close()
  }
}

async function migrate(
  url: string,
  db: Database,
  migration: MigrationFile,
  print: Print,
  progress: ProgressLine,
): Promise<void> {
  const { name, bucket } = migration
  const task = await begin(url, migration)
  if (task === undefined) {
    print({ name, outcome: 'done before' }, `${name}: already done`)
    return
  }
  if (task.state === 'running' && task.phase === 'changing') {
    await migrateObjects(db, migration, task, async reached => {
      await tell(url, task.id, { do: 'progress', ...reached })
      progress.show({ what: name, done: reached.done, total: task.total, at: bucket })
    })
    await tell(url, task.id, { do: 'finish' })
  }
  const { changed } = await waitFor(url, task.id, progress)
  progress.clear()
  print({ name, outcome: 'done', changed }, `${name}: done, ${changed} objects of ${bucket} changed`)
}

/** The task of a migration, started now or earlier; undefined if it is done. */
async function begin(url: string, { name, bucket, schema }: MigrationFile): Promise<Task | undefined> {
  const path = `/db/${bucket}`
  const known = await unlessMissing(callServer<SchemaList>(url, 'GET', `${path}?schemas`))
  const had = known?.body.schemas.find(({ migration }) => migration === name)
  if (had !== undefined) return goOn(url, had.task)
  const settings = await unlessMissing(callServer<BucketSettings>(url, 'GET', `${path}?settings`))
  const { schemaVersion: _, ...kept } = settings?.body ?? { kind: 'object' }
  const change: BucketChange = { ...kept, schema, migration: { by: 'client', name } }
  // If two commands run at once, the second is refused, and can be run again.
  const condition = settings?.etag === undefined ? { 'if-none-match': '*' } : { 'if-match': settings.etag }
  const { body } = await callServer<BucketAnswer>(url, 'PUT', path, change, condition)
  return getTask(url, body.task!)
}

async function goOn(url: string, id: string | undefined): Promise<Task | undefined> {
  const found = id === undefined ? undefined : await unlessMissing(callServer<Task>(url, 'GET', `/tasks/${id}`))
  if (found === undefined || found.body.state === 'done') return undefined
  const { state, name } = found.body
  if (state === 'failed') return tell(url, id!, { do: 'resume' })
  if (state === 'running') return found.body
  throw new FreshetError(
    'TASK_STATE',
    `The migration ${name} was cancelled. Write a new migration that continues from there.`,
  )
}

async function getTask(url: string, id: string): Promise<Task> {
  return (await callServer<Task>(url, 'GET', `/tasks/${id}`)).body
}

async function tell(url: string, id: string, action: TaskAction): Promise<Task> {
  return (await callServer<Task>(url, 'POST', `/tasks/${id}`, action)).body
}

/** Waits until the server has checked every object. */
async function waitFor(url: string, id: string, progress: ProgressLine): Promise<Task> {
  for (;;) {
    const task = await getTask(url, id)
    if (task.state === 'done') return task
    if (task.state !== 'running') {
      const { message = `The task ${id} was ${task.state}.`, violations } = task.error ?? {}
      throw new FreshetError(
        'SCHEMA_MISFIT',
        `${message} Correct the migration's change, and run this command again.`,
        {
          details: { violations },
        },
      )
    }
    progress.show({ what: `checking ${task.name}`, done: task.done, total: task.total, at: task.bucket })
    await delay(POLL_MS)
  }
}

async function unlessMissing<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call
  } catch (error) {
    const isMissing = error instanceof FreshetError && /^(?:BUCKET|TASK)_NOT_FOUND$/.test(error.code)
    if (isMissing) return undefined
    throw error
  }
}
