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

test('a port in use is reported with the command that uses the next one, even past the last', () => {
  const error = systemError('EADDRINUSE', 'listen')
  expect(refusalOf(error, CONTEXT)).toMatch(/^Port 65535 is in use .*: freshet dev --port 1$/)
  expect(refusalOf(error, { ...CONTEXT, isNpmStart: true })).toMatch(/: npm start -- --port 1$/)
})

test('the same code means different things for a folder and for a port', () => {
  expect(refusalOf(systemError('EACCES', 'listen'), CONTEXT)).toContain('not allowed to use port 65535')
  expect(refusalOf(systemError('EACCES', 'mkdir'), CONTEXT)).toContain('not allowed to write to the folder /var/shop')
})

test.each([
  ['ENOSPC', 'full'],
  ['EROFS', 'read-only'],
  ['ENOTDIR', 'not a folder'],
])('%s is reported in words and with advice', (code, word) => {
  const line = refusalOf(systemError(code, 'open'), CONTEXT)
  expect(line).toContain(word)
  expect(line).toContain('--data')
})

test("Freshet's own errors are reported unchanged, and unexpected errors get no text", () => {
  expect(refusalOf(new FreshetError('STORE_LOCKED', 'It is open.'), CONTEXT)).toBe('It is open.')
  expect(refusalOf(new TypeError('undefined is not a function'), CONTEXT)).toBeUndefined()
})
