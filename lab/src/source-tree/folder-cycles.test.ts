import { expect, test } from 'vitest'
import { folderCycles } from './folder-cycles.js'

function cyclesIn(tree: Readonly<Record<string, string>>): string[][] {
  return folderCycles(Object.entries(tree).map(([path, text]) => ({ path: `packages/${path}`, text })))
}

test('two folders that import each other are a cycle, whichever files do', () => {
  const tree = {
    'server/src/http/a.ts': "import { b } from '../access/b.js'",
    'server/src/access/rules/c.ts': "import type { D } from '../../http/d.js'",
  }
  expect(cyclesIn(tree)).toEqual([['packages/server/src/access', 'packages/server/src/http']])
})

test('a round trip over three folders is one cycle of three', () => {
  const tree = {
    'core/src/a/x.ts': "import '../b/x.js'",
    'core/src/b/x.ts': "import '../c/x.js'\nimport '../d/x.js'",
    'core/src/c/x.ts': "export { x } from '../a/x.js'",
    'core/src/d/x.ts': '',
  }
  expect(cyclesIn(tree)).toEqual([['packages/core/src/a', 'packages/core/src/b', 'packages/core/src/c']])
})

test('folders deep inside of a folder are compared with those beside them', () => {
  const tree = {
    'engines/src/sql/a/x.ts': "import '../b/x.js'",
    'engines/src/sql/b/x.ts': "import '../a/x.js'",
  }
  expect(cyclesIn(tree)).toEqual([['packages/engines/src/sql/a', 'packages/engines/src/sql/b']])
})

test('a folder and its subfolder, files between folders, tests and code for tests make no cycle', () => {
  const tree = {
    'server/src/index.ts': "import './http/a.js'",
    'server/src/http/a.ts': "import '../settings.js'\nimport './parsing/b.js'",
    'server/src/http/parsing/b.ts': "import '../a.js'",
    'server/src/http/a.test.ts': "import '../access/b.js'",
    'server/src/access/b.ts': "import '../http/a.js'",
    'server/src/access/under-test/c.ts': "import '../../data/c.js'",
    'server/src/data/c.ts': "import '../access/b.js'",
  }
  expect(cyclesIn(tree)).toEqual([])
})
