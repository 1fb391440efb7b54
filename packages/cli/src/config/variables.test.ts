import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readVariables } from './variables.js'

const folder = mkdtempSync(join(tmpdir(), 'freshet-variables-'))
afterAll(() => rmSync(folder, { recursive: true }))

const path = join(folder, 'store')
writeFileSync(path, 'postgres://u:p@host/db\n')

test('a variable may name a file that has its value', () => {
  const environment = { FRESHET_STORE_FILE: path, FRESHET_PORT: '80', FRESHET_LOG_FILE: '/elsewhere' }
  expect(readVariables(environment, ['store', 'port'])).toMatchObject({
    FRESHET_STORE: 'postgres://u:p@host/db',
    FRESHET_PORT: '80',
  })
  expect(readVariables({ FRESHET_STORE_FILE: '' }, ['store']).FRESHET_STORE).toBeUndefined()
})

test('setting both, or naming a missing file, is refused with the reason', () => {
  const both = { FRESHET_STORE_FILE: path, FRESHET_STORE: 'embedded' }
  expect(() => readVariables(both, ['store'])).toThrow('Both FRESHET_STORE and FRESHET_STORE_FILE are set.')
  expect(() => readVariables({ FRESHET_STORE_FILE: join(folder, 'none') }, ['store'])).toThrow('does not exist')
})
