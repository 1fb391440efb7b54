import { expect, test } from 'vitest'
import { identityOf, isOtherFile } from './file-identity.js'

const folder = { ino: 1n, birthtimeNs: 10n, ctimeNs: 50n }
const identify = (ino: bigint, birthtimeNs: bigint, ctimeNs: bigint, folders = [folder]) =>
  identityOf({ ino, birthtimeNs, ctimeNs }, folders).file

test('a file with the inode of the file that it replaced is another file', () => {
  expect(isOtherFile(identify(7n, 20n, 30n), identify(7n, 40n, 41n))).toBe(true)
})

test('a file that was changed, moved or given another owner is the same file', () => {
  expect(isOtherFile(identify(7n, 20n, 30n), identify(7n, 20n, 60n))).toBe(false)
})

test('a copy that is unchanged since its creation is another file', () => {
  expect(isOtherFile(identify(7n, 20n, 30n), identify(8n, 40n, 40n))).toBe(true)
})

test('without times of birth, whether 0 or the time of the last change, no file counts as another', () => {
  const unknown = [{ ino: 1n, birthtimeNs: 50n, ctimeNs: 50n }]
  const born = identify(7n, 20n, 30n)
  expect(isOtherFile(born, identify(8n, 40n, 40n, unknown))).toBe(false)
  expect(isOtherFile(born, identify(8n, 0n, 40n, unknown))).toBe(false)
  expect(isOtherFile(identify(8n, 0n, 40n), born)).toBe(false)
})
