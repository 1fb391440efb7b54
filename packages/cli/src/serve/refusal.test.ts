import { FreshetError } from '@freshet/protocol'
import { expect, test } from 'vitest'
import { type RefusalContext, refusalOf } from './refusal.js'

const CONTEXT: RefusalContext = {
  config: { data: '/var/shop', host: '127.0.0.1', port: 65_535 },
  command: 'freshet dev',
}

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(code), { code, syscall })
}

test('a port in use is reported with the command that uses the next one, even past the last', () => {
  const error = systemError('EADDRINUSE', 'listen')
  expect(refusalOf(error, CONTEXT)).toMatch(/^PORT_IN_USE: Another program uses port 65535\. .*: freshet dev --port 1$/)
  expect(refusalOf(error, { ...CONTEXT, command: 'npm start --' })).toMatch(/: npm start -- --port 1$/)
})

test('if a Freshet server has the port or the folder, the user is reminded of it, and can start another with one command', () => {
  const context = { ...CONTEXT, config: { ...CONTEXT.config, port: 7700 }, neighbour: 'http://localhost:7700' }
  expect(refusalOf(systemError('EADDRINUSE', 'listen'), context)).toBe(
    'PORT_IN_USE: A Freshet server already runs at http://localhost:7700. Use it, or stop it with Ctrl-C in its terminal. ' +
      'To start another one beside it: freshet dev --port 7701',
  )
  expect(refusalOf(new FreshetError('STORE_LOCKED', 'It is open.'), { ...context, command: 'npm start --' })).toBe(
    'STORE_LOCKED: It is open. A Freshet server runs at http://localhost:7700: you can use that one. ' +
      'To start another one beside it: npm start -- --port 7701 --data .freshet-7701',
  )
  expect(refusalOf(new FreshetError('STORE_FULL', 'It is full.'), context)).toBe('STORE_FULL: It is full.')
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

test("Freshet's own errors are reported with their codes, and unexpected errors get no text", () => {
  expect(refusalOf(new FreshetError('STORE_LOCKED', 'It is open.'), CONTEXT)).toBe('STORE_LOCKED: It is open.')
  expect(refusalOf(new FreshetError('STORE_UNAVAILABLE', 'It is silent.'), CONTEXT)).toBe(
    'STORE_UNAVAILABLE: It is silent. If the address is wrong, correct --store.',
  )
  expect(refusalOf(new TypeError('undefined is not a function'), CONTEXT)).toBeUndefined()
})
