/** Every command that works with a store takes its address in the same ways. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readRulesLine } from '../access/rules-line.js'
import { readBackupLine } from '../backup/backup-line.js'
import { listOptions } from '../config/options.js'
import { readConfig } from '../config/read-config.js'
import type { Environment } from '../config/value-kinds.js'
import { readVariables } from '../config/variables.js'
import { readDoctorLine } from '../doctor/doctor-line.js'
import { readExportLine } from '../export/export-line.js'
import { readImportLine } from '../import/import-line.js'
import { readRestoreLine } from '../restore/restore-line.js'
import { readTablesLine } from '../tables/tables-line.js'
import { HELP_TOPICS } from './help.js'

const URL = 'postgres://user:secret@host/database'
const MISTYPED = 'postgress://user:secret@host/database'

const folder = mkdtempSync(join(tmpdir(), 'freshet-place-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'store')
writeFileSync(file, `${URL}\n`)

type Read = (flags: readonly string[], environment: Environment) => unknown

/** The store that `freshet serve` would open. */
const serve: Read = (flags, environment) => {
  const options = listOptions(1)
  const given = new Map(flags.flatMap((flag, i) => (i % 2 === 0 ? [[flag.slice(2), flags[i + 1]!] as const] : [])))
  return readConfig('serve', options, { flags: given, environment: readVariables(environment, ['store']) }).config.store
}

const COMMANDS: Readonly<Record<string, Read>> = {
  serve,
  backup: (flags, environment) => readBackupLine(['folder', ...flags], environment).from?.store,
  restore: (flags, environment) => readRestoreLine(['folder', ...flags], environment).to.store,
  export: (flags, environment) => readExportLine(flags, environment).from,
  import: (flags, environment) => readImportLine(['file', ...flags], environment).to,
  tables: (flags, environment) => readTablesLine(['list', ...flags], environment).store,
  doctor: (flags, environment) => readDoctorLine(flags, environment),
  rules: (flags, environment) => readRulesLine(['show', ...flags], environment).place,
}

test('these are all the commands whose help has --store', () => {
  const withStore = Object.keys(HELP_TOPICS).filter(name => HELP_TOPICS[name]!.includes('--store'))
  // `freshet token` needs no store. It records the token in the audit log of one only where a flag names it.
  expect(withStore.sort()).toEqual([...Object.keys(COMMANDS), 'token'].sort())
})

describe.each(Object.entries(COMMANDS))('freshet %s', (_, read) => {
  const inAnyForm = (store: string) => expect.toSatisfy((found: unknown) => JSON.stringify(found).includes(store))

  test('takes the store from the flag, a variable, or a file that a variable names', () => {
    expect(read(['--store', URL], {})).toEqual(inAnyForm(URL))
    expect(read([], { FRESHET_STORE: URL })).toEqual(inAnyForm(URL))
    expect(read([], { FRESHET_STORE_FILE: file })).toEqual(inAnyForm(URL))
  })

  test('goes by the flag rather than by a variable', () => {
    expect(read(['--store', URL], { FRESHET_STORE: 'redis://elsewhere' })).toEqual(inAnyForm(URL))
  })

  test('guesses what a mistyped address meant, and shows no password', () => {
    const message = /(--store|FRESHET_STORE): it must be (?!.*secret).* Did you mean postgres:\/\/\?$/
    expect(() => read(['--store', MISTYPED], {})).toThrow(message)
    expect(() => read([], { FRESHET_STORE: MISTYPED })).toThrow(message)
  })
})

describe.each(Object.entries(COMMANDS).filter(([name]) => !['serve', 'tables'].includes(name)))(
  'freshet %s, with a folder',
  (_, read) => {
    test('takes it from --data, whatever the variables say, and refuses an engine beside it', () => {
      expect(JSON.stringify(read(['--data', 'here'], { FRESHET_STORE: URL }))).toContain('"here"')
      expect(() => read(['--data', 'here', '--store', URL], {})).toThrow('takes one of')
    })

    test('takes it from FRESHET_DATA if the variables name no engine', () => {
      const environment = { FRESHET_DATA: 'here', FRESHET_STORE: 'embedded' }
      expect(JSON.stringify(read([], environment))).toContain('"here"')
      expect(JSON.stringify(read([], { ...environment, FRESHET_STORE: URL }))).toContain(URL)
    })
  },
)

test('--url selects a server, whatever the variables say', () => {
  const from = readExportLine(['--url', 'http://localhost:7700'], { FRESHET_STORE: URL }).from
  expect(from).toEqual({ url: 'http://localhost:7700' })
})

test('the doctor examines caches with --through, and only what its flags name', () => {
  const through = 'http://localhost:8080'
  expect(readDoctorLine(['--through', through], { FRESHET_STORE: URL })).toMatchObject({ through })
  expect(() => readDoctorLine([], { FRESHET_DATA: 'here' })).toThrow('Name what to examine')
  expect(() => readDoctorLine(['--store', URL, '--through', through], {})).toThrow('Leave one out')
})
