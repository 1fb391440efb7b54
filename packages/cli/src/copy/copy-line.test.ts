import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readTablesLine } from '../tables/tables-line.js'
import { readCopyLine } from './copy-line.js'

const URL = 'postgres://user:secret@host/database'

function withFile(text: string, use: (path: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-copy-line-'))
  try {
    writeFileSync(join(folder, 'store'), text)
    use(join(folder, 'store'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('both stores may be named by variables, or by files that variables name', () => {
  expect(readCopyLine([], { FRESHET_FROM: '.freshet', FRESHET_TO: URL })).toMatchObject({ from: '.freshet', to: URL })
  withFile(`${URL}\n`, path => {
    expect(readCopyLine(['--from', 'a'], { FRESHET_TO_FILE: path })).toMatchObject({ from: 'a', to: URL })
    expect(readTablesLine(['list'], { FRESHET_STORE_FILE: path })).toMatchObject({ store: URL })
  })
})

test('a flag overrides a variable, even one that names a missing file', () => {
  const environment = { FRESHET_FROM: 'c', FRESHET_TO_FILE: '/nowhere/store' }
  expect(readCopyLine(['--from', 'a', '--to', 'b'], environment)).toMatchObject({ from: 'a', to: 'b' })
  expect(() => readCopyLine(['--from', 'a'], environment)).toThrow('/nowhere/store')
})

test('a missing store, or the same store twice, is refused without showing a password', () => {
  expect(() => readCopyLine(['--from', 'a'], { FRESHET_TO: '' })).toThrow('copy takes two stores')
  expect(() => readCopyLine(['--from', URL], { FRESHET_TO: URL })).toThrow(/^--from and --to name the same store/)
})

test('an unknown address is not taken for a folder', () => {
  const to = 'postgress://user:secret@host/database'
  expect(() => readCopyLine(['--from', 'a', '--to', to], {})).toThrow(
    /^--to: it must be a folder, or an address that begins/,
  )
  expect(() => readCopyLine(['--from', to, '--to', 'a'], {})).toThrow(
    /^--from: (?!.*secret).* Did you mean postgres:\/\/\?$/,
  )
  expect(() => readCopyLine(['--from', 'a', '--to', 'embedded'], {})).toThrow('--to')
})
