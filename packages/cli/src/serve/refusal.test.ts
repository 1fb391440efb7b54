import { FreshetError } from '@freshet/protocol'
import { expect, test } from 'vitest'
import { type RefusalContext, refusalOf } from './refusal.js'

const CONTEXT: RefusalContext = {
  mode: 'dev',
  config: { data: '/var/shop', host: '127.0.0.1', port: 65_535 },
  isNpmStart: false,
}

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(code), { code, syscall })
}

test('a taken port comes with the command that takes the next, also past the last', () => {
  const error = systemError('EADDRINUSE', 'listen')
  expect(refusalOf(error, CONTEXT)).toMatch(/^Port 65535 is taken .*: freshet dev --port 1$/)
  expect(refusalOf(error, { ...CONTEXT, isNpmStart: true })).toMatch(/: npm start -- --port 1$/)
})

test('the same code means another thing of a folder than of a port', () => {
  expect(refusalOf(systemError('EACCES', 'listen'), CONTEXT)).toContain('Port 65535 may not be used')
  expect(refusalOf(systemError('EACCES', 'mkdir'), CONTEXT)).toContain('/var/shop may not be written to')
})

test.each([
  ['ENOSPC', 'full'],
  ['EROFS', 'read-only'],
  ['ENOTDIR', 'no folder'],
])('%s is told in words and with a way out', (code, word) => {
  const line = refusalOf(systemError(code, 'open'), CONTEXT)
  expect(line).toContain(word)
  expect(line).toContain('--data')
})

test('errors of ours speak for themselves, and what nobody foresaw is not put into words', () => {
  expect(refusalOf(new FreshetError('STORE_LOCKED', 'It is open.'), CONTEXT)).toBe('It is open.')
  expect(refusalOf(new TypeError('undefined is not a function'), CONTEXT)).toBeUndefined()
})
