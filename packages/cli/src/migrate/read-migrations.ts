/** The files of a folder of migrations, in the order of their numbers: `0001-split-name.mjs`, `0002-prices.mjs`. */
import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type JsonSchema, parseBucketName } from '@freshet/protocol'
import { configInvalid } from '../config/config-invalid.js'

export interface MigrationFile {
  /** The name of the file, without its extension. */
  readonly name: string
  readonly bucket: string
  readonly schema: JsonSchema
  /** Returns the changed object. Called again if the object has changed meanwhile. */
  readonly change: Change
}

export type Change = (object: Record<string, unknown>, id: string) => unknown

const FILE = /^(\d{4,})-([\w-]+)\.m?js$/

/** Throws CONFIG_INVALID. */
export async function readMigrations(folder: string): Promise<readonly MigrationFile[]> {
  const files = (await namesIn(folder)).filter(file => FILE.test(file)).sort()
  const numbers = files.map(file => FILE.exec(file)![1]!)
  const twice = numbers.find((number, i) => numbers.indexOf(number) !== i)
  if (twice !== undefined) throw configInvalid(`Two migrations in ${folder} have the number ${twice}. Rename one.`)
  const migrations: MigrationFile[] = []
  for (const file of files) migrations.push(await readOne(folder, file))
  return migrations
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (cause) {
    throw configInvalid(
      `The folder ${folder} cannot be read: ${(cause as Error).message}. Name the folder: --folder FOLDER.`,
    )
  }
}

async function readOne(folder: string, file: string): Promise<MigrationFile> {
  const path = resolve(folder, file)
  const { bucket, schema, change = (object: unknown) => object, ...others } = await load(path)
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw configInvalid(`${path} exports ${unknown}, which is unknown; it may export bucket, schema and change.`)
  if (typeof bucket !== 'string') throw configInvalid(`${path} must export bucket, such as 'shop/products'.`)
  try {
    parseBucketName(bucket)
  } catch (cause) {
    throw configInvalid(`${path}: ${(cause as Error).message}`)
  }
  if (typeof schema !== 'object' || schema === null) throw configInvalid(`${path} must export schema, a JSON schema.`)
  if (typeof change !== 'function')
    throw configInvalid(`${path}: change must be a function from an object to an object.`)
  return { name: file.replace(/\.m?js$/, ''), bucket, schema: schema as JsonSchema, change: change as Change }
}

async function load(path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (cause) {
    throw configInvalid(`${path} cannot be loaded: ${(cause as Error).message}`)
  }
}
