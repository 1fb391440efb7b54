import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readMigrations } from './read-migrations.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-migrations-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const BUCKET = "export const bucket = 'shop/products'; export const schema = {};"

test('a misspelt export is refused: without its change a migration would change nothing', async () => {
  writeFileSync(join(folder, '0001-names.mjs'), `${BUCKET} export const chnage = object => object`)
  await expect(readMigrations(folder)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('exports chnage'),
  })
})

test('a migration may omit change', async () => {
  writeFileSync(join(folder, '0001-names.mjs'), BUCKET)
  expect(await readMigrations(folder)).toMatchObject([{ name: '0001-names', bucket: 'shop/products' }])
})
