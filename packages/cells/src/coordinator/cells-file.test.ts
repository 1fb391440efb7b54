import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { addressSnitch, distanceFrom, fileSnitch } from '../layout/snitch.js'
import { openNodeAt } from '../nodes/open-node.js'
import { readCellsFile } from './cells-file.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-ring-file-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function read(content: unknown, name = 'ring.json') {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return readCellsFile(path)
}

const NODES = [{ name: 'a', address: 'redis://10.1.2.3' }]

describe('a ring file', () => {
  test('takes the place of a node from its snitch, unless the node states it', () => {
    expect(read({ nodes: NODES }).nodes).toMatchObject([{ name: 'a', dataCentre: 'here', rack: 'rack' }])
    expect(read({ nodes: NODES, snitch: 'addresses' }).nodes).toMatchObject([{ dataCentre: '1', rack: '2' }])
    const own = [{ ...NODES[0], rack: '9' }]
    expect(read({ nodes: own, snitch: 'addresses' }).nodes).toMatchObject([{ dataCentre: '1', rack: '9' }])
    writeFileSync(join(folder, 'places'), '# where\na = eu:r1\n')
    expect(read({ nodes: NODES, snitch: { file: 'places' } }).nodes).toMatchObject([{ dataCentre: 'eu', rack: 'r1' }])
  })

  test.each([
    ['{', 'is not JSON'],
    ['{"nodes":[{"name":"a","address":"redis://a","address":"redis://b"}]}', 'it has "address" twice in one object'],
    [{ nodes: 3 }, 'a list of "nodes"'],
    [{ nodes: NODES, factors: 3 }, 'the file has no member "factors"'],
    [{ nodes: NODES, here: { dataCenter: '1' } }, '"here" has no member "dataCenter"'],
    [{ nodes: NODES, snitch: { file: 'x', files: 'y' } }, '"snitch" has no member "files"'],
    [{ nodes: [{ name: 'a' }] }, 'a "name" and an "address"'],
    [{ nodes: [{ ...NODES[0], racks: '1' }] }, 'node a has no member "racks"'],
    [{ nodes: NODES, partitioner: 'random' }, '"partitioner" is'],
    [{ nodes: NODES, snitch: 'guess' }, '"snitch" is'],
    [{ nodes: NODES, snitch: { file: 'nowhere' } }, 'cannot be read'],
  ])('that is wrong is refused, with the reason: %j', (content, why) => {
    expect(() => read(content)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(why) }),
    )
  })
})

test('an address of an engine that cannot be a node is refused, not taken for a folder', () => {
  for (const address of ['postgress://user:secret@host/database', 'cassandra://host/keyspace']) {
    expect(() => openNodeAt(address)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('secret') }),
    )
  }
  for (const address of ['postgres://host/database', 'http://host', join(folder, 'store')]) openNodeAt(address)
})

describe('snitches', () => {
  test('refuse an address without octets, a malformed line, and a node that is not in the file', () => {
    expect(() => addressSnitch({ name: 'a', address: 'redis://cache.example' })).toThrow('IPv4')
    expect(() => fileSnitch('a eu r1')).toThrow('Line 1')
    expect(() => fileSnitch('a = eu:r1')({ name: 'b', address: '' })).toThrow('not in the snitch')
    expect(fileSnitch('default = eu:r2')({ name: 'b', address: '' })).toEqual({ dataCentre: 'eu', rack: 'r2' })
  })

  test('the same rack is nearest, then the same data centre', () => {
    const far = distanceFrom({ dataCentre: 'eu', rack: '1' })
    const at = (dataCentre: string, rack: string) => far({ name: 'x', address: '', dataCentre, rack })
    expect([at('eu', '1'), at('eu', '2'), at('us', '1')]).toEqual([0, 1, 2])
  })
})
