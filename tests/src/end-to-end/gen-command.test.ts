/** `freshet gen` in use: its types are compiled with a program that uses them correctly, and incorrectly. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect, type Database, violationsOf } from '@freshet/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endFreshetProcesses, runFreshet } from './freshet-process.js'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const PROGRAM = `import { connect, type Counters, type KvBucket, type ObjectBucket } from '@freshet/client'
import type { Buckets, Products, Reference } from './types.js'

const db = await connect<Buckets>('http://localhost:7700')
const tea = await db.bucket('shop/products').get('tea')
export const price: number | undefined = tea?.price
export const supplier: Reference<'shop/suppliers'> | undefined = tea?.supplier
await db.bucket('shop/products').put('mug', { name: 'Mug', price: 9, supplier: 'acme', tags: ['new'], made: { year: 2020 } })
export const anything: ObjectBucket<Record<string, unknown>> = db.bucket('shop/others')
export const named: ObjectBucket<Products> = db.bucket<Products>('shop/products')
export const files: KvBucket = db.kv('shop/files')
export const views: Counters = db.counter('shop/views')
`
const MISTAKES = [
  `export const text: string | undefined = tea?.price`,
  `await db.bucket('shop/products').put('mug', { name: 'Mug' })`,
  `await db.bucket('shop/products').put('mug', { name: 'Mug', price: 9, tags: ['old'] })`,
  `await db.bucket('shop/products').put('mug', { name: 'Mug', price: 9, colour: 'red' })`,
  `export const other: Reference<'shop/customers'> | undefined = tea?.supplier`,
  `db.bucket('shop/product')`,
  `db.bucket('shop/views')`,
  `db.counter('shop/files')`,
]

let folder: string
let server: MemoryServer
let db: Database

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-gen-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  server = await startMemoryServer()
  db = await connect(server.url)
  await db.kv('shop/files').configure({})
  await db.counter('shop/views').configure({})
  await db.bucket('shop/others').put('a', { a: 1 })
  await db.bucket('shop/products').configure({
    schema: {
      type: 'object',
      description: 'What we sell.',
      required: ['name', 'price'],
      properties: {
        name: { type: 'string' },
        price: { type: 'number', minimum: 0 },
        tags: { type: 'array', items: { enum: ['new', 'sale'] } },
        supplier: { type: 'string', 'x-reference': 'shop/suppliers' },
        made: { $ref: '#/$defs/made' },
      },
      $defs: { made: { properties: { year: { type: 'integer' }, before: { $ref: '#/$defs/made' } } } },
    },
  })
})
afterAll(async () => {
  db.close()
  await server.stop()
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

/** The errors of the compiler, one line each. */
async function compile(program: string): Promise<string> {
  writeFileSync(join(folder, 'program.ts'), program)
  const options = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--target', 'es2022', '--module', 'nodenext']
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  try {
    await promisify(execFile)(process.execPath, [tsc, ...options, 'program.ts'], { cwd: folder })
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

test('its types compile, and make the compiler find mistakes', async () => {
  expect(await runFreshet(['gen', '--url', server.url, '--out', 'types.ts'], { cwd: folder })).toMatchObject({
    exitCode: 0,
  })
  expect(await compile(PROGRAM)).toBe('')
  const objections = await compile(PROGRAM + MISTAKES.join('\n'))
  const first = PROGRAM.split('\n').length
  const lines = [...objections.matchAll(/^program\.ts\((\d+),.*error TS/gm)].map(match => Number(match[1]))
  expect(lines).toEqual(MISTAKES.map((_, i) => first + i))
})

test('the same schemas give the same file, and --check says when it is out of date', async () => {
  const args = ['gen', '--url', server.url]
  const printed = await runFreshet(args)
  expect(printed.output).toBe(readFileSync(join(folder, 'types.ts'), 'utf8'))
  const check = () => runFreshet([...args, '--check', '--out', 'types.ts'], { cwd: folder })
  expect(await check()).toMatchObject({ exitCode: 0, errors: '' })
  await db.bucket('shop/others').configure({ schema: { required: ['a'] } })
  expect(await check()).toMatchObject({ exitCode: 1, errors: expect.stringContaining('types.ts is out of date') })
  expect(await runFreshet(['gen', '--url', 'http://127.0.0.1:1'])).toMatchObject({ exitCode: 1 })
})

test('the client reports what is wrong with an object, and changes the schema with a migration', async () => {
  const products = db.bucket('shop/products')
  const error = await products.put('tea', { name: 'Tea' }).catch(refused => refused)
  expect(error).toMatchObject({ code: 'SCHEMA_VIOLATED', details: { schemaVersion: 1 } })
  const expected = "have required property 'price'"
  expect(violationsOf(error)).toEqual([{ path: '/db/shop/products/tea', at: '', expected }])
  const other = db.bucket<{ b: number }>('shop/others')
  const schema = { required: ['b'] }
  await expect(other.configure({ schema })).rejects.toMatchObject({ code: 'SCHEMA_MISFIT' })
  const { task } = await other.configure({ schema, migration: { steps: [{ rename: '/a', to: '/b' }] } })
  await expect
    .poll(async () => (await fetch(`${server.url}/tasks/${task}`)).json())
    .toMatchObject({ state: 'done', changed: 1 })
  expect({ ...(await other.get('a', { read: 'current' })) }).toEqual({ b: 1 })
})
