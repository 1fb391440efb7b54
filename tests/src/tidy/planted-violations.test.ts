/** Shows each tidy rule trees with one violation, and a tree without any: a rule must be able to fail. */

import type { SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { expect, test } from 'vitest'
import { rules } from './rules.js'

type Tree = Readonly<Record<string, string>>

interface Samples {
  readonly clean: Tree
  readonly planted: ReadonlyArray<{
    readonly what: string
    readonly tree: Tree
    /** The place of the one finding. */
    readonly at: string
    /** The words of the message that name the fix. */
    readonly fix: string
  }>
}

const manifest = JSON.stringify({ exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } } })
const vitestConfig = "room('bloom', ['packages/bloom/src/**/*.test.ts'])"

const samples: Readonly<Record<string, Samples>> = {
  'imports follow the arrows between rooms': {
    clean: {
      'packages/bloom/src/a.ts': "import { b } from './b.js'",
      'packages/bloom/src/a.test.ts':
        "import fc from 'fast-check'\nimport { test } from 'vitest'\nimport { join } from 'node:path'",
      'packages/client/src/a.ts':
        "import { sketch } from '@freshet/core/coherence'\nimport { a } from '@freshet/bloom'",
      'packages/core/src/counters/a.ts': "import type { Store } from '../store/store.js'",
      'packages/core/src/index.ts': "export { a } from './counters/a.js'",
      'packages/cli/src/a.ts': "import { createServer } from '@freshet/server'",
      'packages/engines/src/a.ts': "import { open } from 'lmdb'",
      'packages/server/src/a.test.ts': "import { createMemoryStore } from '@freshet/engines/memory'",
      'lab/src/a.ts': "import { createBloom } from '@freshet/bloom'\nimport { readFileSync } from 'node:fs'",
      'vitest.config.ts': "import { defineConfig } from 'vitest/config'",
    },
    planted: [
      {
        what: 'a room that imports against the arrow',
        tree: { 'packages/bloom/src/a.ts': "\nimport { x } from '@freshet/core'" },
        at: 'packages/bloom/src/a.ts:2',
        fix: 'Take the value as an argument',
      },
      {
        what: 'a room that imports by a path that it may not use',
        tree: { 'packages/client/src/a.ts': "import { x } from '@freshet/core/counters'" },
        at: 'packages/client/src/a.ts:1',
        fix: 'move this code to a room that may',
      },
      {
        what: 'a room that imports what only its tests may import',
        tree: { 'packages/server/src/a.ts': "import { createMemoryStore } from '@freshet/engines/memory'" },
        at: 'packages/server/src/a.ts:1',
        fix: 'Take the value as an argument',
      },
      {
        what: 'a package that imports the lab, lazily',
        tree: { 'packages/cli/src/a.ts': "const { x } = await import('@freshet/lab')" },
        at: 'packages/cli/src/a.ts:1',
        fix: 'change ARROWS in',
      },
      {
        what: 'a package that imports the tests',
        tree: { 'packages/server/src/a.test.ts': "export { x } from '@freshet/tests'" },
        at: 'packages/server/src/a.test.ts:1',
        fix: 'change ARROWS in',
      },
      {
        what: 'a relative path out of the package',
        tree: { 'packages/core/src/a.ts': "import {\n  type X,\n} from '../../bloom/src/x.js'" },
        at: 'packages/core/src/a.ts:3',
        fix: 'Import the other package by name',
      },
      {
        what: 'a self-contained room that imports from npm',
        tree: { 'packages/protocol/src/a.ts': "import { z } from 'zod'" },
        at: 'packages/protocol/src/a.ts:1',
        fix: 'Take what you need as an argument',
      },
      {
        what: 'a test that imports what tests may not import',
        tree: { 'packages/bloom/src/a.test.ts': "import { z } from 'zod'" },
        at: 'packages/bloom/src/a.test.ts:1',
        fix: 'Take what you need as an argument',
      },
      {
        what: 'a pure folder that imports another folder of its package',
        tree: { 'packages/shards/src/plan/a.ts': "import { x } from '../engines/x.js'" },
        at: 'packages/shards/src/plan/a.ts:1',
        fix: 'Take the value as an argument',
      },
      {
        what: 'a pure folder that imports a package from npm',
        tree: { 'packages/shards/src/plan/a.ts': "import pg from 'pg'" },
        at: 'packages/shards/src/plan/a.ts:1',
        fix: 'Take what you need as an argument',
      },
      {
        what: 'a capability of core that imports another',
        tree: { 'packages/core/src/counters/a.ts': "import { x } from '../coherence/x.js'" },
        at: 'packages/core/src/counters/a.ts:1',
        fix: 'declare the arrow in CORE_ARROWS',
      },
      {
        what: 'a room that is not on the map',
        tree: { 'packages/attic/src/a.ts': "import { x } from './x.js'" },
        at: 'packages/attic/src/a.ts:1',
        fix: 'Say what it may import in ARROWS',
      },
    ],
  },
  'the folders of a package import each other one way only': {
    clean: {
      'packages/bloom/src/wire/x.ts': "import '../plain/x.js'",
      'packages/attic/src/a/x.ts': "import '../b/x.js'",
      'packages/attic/src/b/x.ts': "import './below/x.js'",
      'packages/attic/src/b/below/x.ts': "import '../x.js'",
    },
    planted: [
      {
        what: 'a folder that imports one of a layer above it',
        tree: { 'packages/bloom/src/hashing/x.ts': "import '../plain/x.js'" },
        at: 'packages/bloom/src/hashing',
        fix: 'Take the value as an argument',
      },
      {
        what: 'a folder that is in no layer',
        tree: { 'packages/bloom/src/attic/x.ts': "import '../plain/x.js'" },
        at: 'packages/bloom/src/attic',
        fix: 'Place it in LAYERS',
      },
      {
        what: 'a circle of three folders',
        tree: {
          'packages/attic/src/a/x.ts': "import '../b/x.js'",
          'packages/attic/src/b/x.ts': "import type { X } from '../c/x.js'",
          'packages/attic/src/c/x.ts': "export { x } from '../a/x.js'",
        },
        at: 'packages/attic/src/a',
        fix: 'Move what both sides need into a folder below them',
      },
    ],
  },
  'the pure rooms have no clock, no randomness and no Node': {
    clean: {
      'packages/core/src/a.ts':
        "// Not Date.now().\nconst a = 'Math.random()'\nclock.setTimeout(next)\nexport const at = Date.parse(text)",
      'packages/core/src/a.test.ts': "import { join } from 'node:path'\nconst a = Date.now()",
      'packages/server/src/a.ts': "import { createServer } from 'node:http'\nsetTimeout(stop, 1)",
    },
    planted: [
      ...[
        'Date.now()',
        'new Date()',
        'performance.now()',
        'setTimeout(f, 1)',
        'setInterval(f, 1)',
        'queueMicrotask(f)',
      ],
      ...['globalThis.setTimeout(f, 1)', 'setImmediate(f)', 'process.hrtime.bigint()', 'call(Date.now)'],
    ]
      .map(code => ({
        what: `a clock, ${code}`,
        tree: { 'packages/core/src/a.ts': `\n${code}` },
        at: 'packages/core/src/a.ts:2',
        fix: 'Take the time as an argument',
      }))
      .concat(
        ['Math.random()', 'crypto.getRandomValues(a)', 'globalThis.crypto.randomUUID()', 'randomUUID()'].map(code => ({
          what: `randomness, ${code}`,
          tree: { 'packages/core/src/a.ts': `const a = ${code}` },
          at: 'packages/core/src/a.ts:1',
          fix: 'Take the random number or seed as an argument',
        })),
        ['node:fs', 'fs', 'fs/promises'].map(specifier => ({
          what: `a module of Node, ${specifier}`,
          tree: { 'packages/core/src/a.ts': `import { a } from '${specifier}'` },
          at: 'packages/core/src/a.ts:1',
          fix: 'let the edge import it',
        })),
      ),
  },
  'the pure rooms have no run-time dependency': {
    clean: {
      'packages/core/package.json':
        '{ "dependencies": { "@freshet/bloom": "0.1.0" }, "devDependencies": { "x": "1" } }',
      'packages/engines/package.json': '{ "dependencies": { "lmdb": "3" } }',
    },
    planted: ['dependencies', 'peerDependencies', 'optionalDependencies'].map(field => ({
      what: `a package in ${field}`,
      tree: { 'packages/core/package.json': `{\n  "${field}": {\n    "lodash": "4" }\n}` },
      at: 'packages/core/package.json:3',
      fix: 'Move it to devDependencies',
    })),
  },
  'error codes and docs/errors.md agree': {
    clean: {
      'packages/bloom/src/a.ts': "throw new FilterError('FILTER_A', 'text')",
      'packages/core/src/a.ts':
        "export type FreshetErrorCode =\n  | 'STORE_B' // why\n  | 'STORE_C'\n// new FreshetError('IN_A_COMMENT')",
      'packages/core/src/a.test.ts': "new FreshetError('ONLY_IN_A_TEST', '')",
      'docs/errors.md': '# Errors\n\n## FILTER_A\n\n### `STORE_B`\n\n## STORE_C\n',
    },
    planted: [
      {
        what: 'a code that is thrown and not documented',
        tree: {
          'packages/bloom/src/a.ts': "throw new FilterError(\n  'FILTER_A', 'text')",
          'docs/errors.md': '# Errors',
        },
        at: 'packages/bloom/src/a.ts:2',
        fix: 'Add a section `## FILTER_A`',
      },
      {
        what: 'a code that is declared and not documented',
        tree: {
          'packages/core/src/a.ts': "type FreshetErrorCode =\n  | 'STORE_B'\n  | 'STORE_C'",
          'docs/errors.md': '## STORE_B\n',
        },
        at: 'packages/core/src/a.ts:3',
        fix: 'Add a section `## STORE_C`',
      },
      {
        what: 'a code when there is no document',
        tree: { 'packages/bloom/src/a.ts': "throw new FilterError('FILTER_A', 'text')" },
        at: 'packages/bloom/src/a.ts:1',
        fix: 'Add a section `## FILTER_A`',
      },
      {
        what: 'a documented code that no error has',
        tree: { 'docs/errors.md': '# Errors\n\n## FILTER_GONE\n' },
        at: 'docs/errors.md:3',
        fix: 'Delete its section',
      },
    ],
  },
  'imports of built files have a source': {
    clean: {
      'tests/src/a.test.ts': "import { b } from '@freshet/lab/dist/b.js'\nimport { c } from '@freshet/cli/dist/c.js'",
      'lab/src/b.ts': '',
      'packages/cli/src/c.ts': '',
    },
    planted: [
      {
        what: 'an import of a file that was moved',
        tree: { 'tests/src/a.test.ts': "import { b } from '@freshet/lab/dist/b.js'", 'lab/src/moved/b.ts': '' },
        at: 'tests/src/a.test.ts:1',
        fix: 'Import the file from where it is now',
      },
    ],
  },
  'every source file is reached': {
    clean: {
      'package.json': '{ "scripts": { "lab": "tsc -b && node lab/dist/lab.js" } }',
      'vitest.config.ts': vitestConfig,
      'packages/bloom/package.json': manifest,
      'packages/bloom/src/index.ts': "export { a } from './a.js'",
      'packages/bloom/src/a.ts': "const b = await import('./b.js')",
      'packages/bloom/src/b.ts': '',
      'packages/bloom/src/c.test.ts': "import { model } from './model.js'",
      'packages/bloom/src/model.ts': '',
      'packages/cli/package.json': '{ "bin": { "freshet": "./dist/freshet.js" } }',
      'packages/cli/src/freshet.ts': '',
      'lab/package.json': '{}',
      'lab/src/lab.ts': "new Worker(new URL('./worker.js', import.meta.url))",
      'lab/src/worker.ts': '',
      'lab/src/peers.d.ts': '',
    },
    planted: [
      {
        what: 'a file that nothing imports',
        tree: { 'packages/bloom/package.json': manifest, 'packages/bloom/src/a.ts': '' },
        at: 'packages/bloom/src/a.ts',
        fix: 'Delete it, import it, or list it',
      },
      {
        what: 'a file that only a comment imports',
        tree: {
          'packages/bloom/package.json': manifest,
          'packages/bloom/src/index.ts': "// import './a.js'",
          'packages/bloom/src/a.ts': '',
        },
        at: 'packages/bloom/src/a.ts',
        fix: 'Delete it',
      },
      {
        what: 'a file that only imports itself',
        tree: { 'lab/src/a.ts': "import './a.js'" },
        at: 'lab/src/a.ts',
        fix: 'Delete it',
      },
      {
        what: 'a test that no project runs',
        tree: { 'vitest.config.ts': vitestConfig, 'packages/core/src/a.test.ts': '' },
        at: 'packages/core/src/a.test.ts',
        fix: 'Add its folder to a project in vitest.config.ts',
      },
    ],
  },
  'every name is specific': {
    clean: {
      'packages/core/src/common-prefix.ts': '',
      'packages/core/src/command-line.ts': '',
      'docs/utility.md': '',
    },
    planted: [
      ...[
        ...['utils.ts', 'helpers/a.ts', 'common/a.ts', 'misc.ts', 'test-helpers.ts', 'utils.test.ts', 'String-Util.ts'],
        ...['parts/a.ts', 'server-parts.ts', 'line.ts', 'look.ts', 'elsewhere.ts', 'meetings.test.ts', 'child.ts'],
      ].map(name => ({
        what: name,
        tree: { [`packages/core/src/${name}`]: '' },
        at: `packages/core/src/${name}`,
        fix: 'Name it by what it does',
      })),
    ],
  },
  'no file is too long': {
    clean: { 'lab/src/a.ts': 'a\n'.repeat(500), 'package-lock.json': '\n'.repeat(900) },
    planted: [
      {
        what: 'a file of 501 lines',
        tree: { 'lab/src/a.ts': 'a\n'.repeat(501) },
        at: 'lab/src/a.ts',
        fix: 'Split it by purpose',
      },
    ],
  },
  'exports are listed by name': {
    clean: { 'packages/core/src/index.ts': "export { a } from './a.js'\n// not: export * from './a.js'" },
    planted: ["export * from './a.js'", "export * as a from './a.js'", "export type * from './a.js'"].map(code => ({
      what: code,
      tree: { 'packages/core/src/index.ts': `\n${code}` },
      at: 'packages/core/src/index.ts:2',
      fix: 'List the names one by one',
    })),
  },
  'a test that is switched off says why': {
    clean: {
      'lab/src/a.test.ts':
        "// Needs a disk that can be pulled out.\ntest.skip('a', () => {})\ntest('b', () => list.skip(1))",
    },
    planted: [
      "test.skip('a', f)",
      "it.only('a', f)",
      "describe.skip.each(a)('b', f)",
      "test.concurrent.only('a', f)",
    ].map(code => ({
      what: code,
      tree: { 'lab/src/a.test.ts': `// A reason for something else.\n\n${code}` },
      at: 'lab/src/a.test.ts:3',
      fix: 'say why in a comment on the line above',
    })),
  },
  'no reminder is left in the tree': {
    clean: { 'lab/src/a.ts': "const a = 'TODO'", 'package-lock.json': '{ "integrity": "sha512-/XXX/" }' },
    planted: ['TODO', 'FIXME', 'XXX'].flatMap(word => [
      {
        what: `${word} in code`,
        tree: { 'lab/src/a.ts': `\nf() // ${word}: later` },
        at: 'lab/src/a.ts:2',
        fix: 'Do it now, or open an issue',
      },
      {
        what: `${word} in a document`,
        tree: { 'docs/a.md': `# A\n\n${word}\n` },
        at: 'docs/a.md:3',
        fix: 'Do it now, or open an issue',
      },
    ]),
  },
  'no file carries the address of a registry': {
    clean: {
      'package-lock.json': '{ "resolved": "packages/bloom" }',
      '.npmrc': 'omit-lockfile-registry-resolved=true\n',
      'README.md': 'https://www.npmjs.com/package/@freshet/bloom',
    },
    planted: [
      {
        what: 'an address in the lock file',
        tree: { 'package-lock.json': '{\n  "resolved": "https://packages.example/a.tgz"\n}' },
        at: 'package-lock.json:2',
        fix: '--omit-lockfile-registry-resolved',
      },
      {
        what: 'an address in the settings',
        tree: { '.npmrc': 'fund=false\nregistry=https://packages.example\n' },
        at: '.npmrc:2',
        fix: 'Delete it',
      },
      {
        what: 'an address in a script',
        tree: { '.ci/run': `npm ci --registry https://${'registry'}.example.org/` },
        at: '.ci/run:1',
        fix: 'Delete it',
      },
    ],
  },
  'sentences are plain English': {
    clean: {
      'README.md': 'The server reports the position. Who may read? The list is empty, as long as no client writes.\n',
      'packages/core/src/a.ts': '/** The client depends on the sketch. */\nexport const a = 1\n',
      'tests/src/tidy/rules/a.ts': '// nobody was told',
    },
    planted: [
      ['nobody', 'so nobody waits'],
      ['whoever', 'whoever reads it first'],
      ['Who begins a sentence', 'Who waits is served.'],
      ['told', 'the client is told'],
      ['so long', 'it waits for so long'],
      ['anew', 'the sketch begins anew'],
      ['is none', 'a list that is none'],
      ['hangs on', 'the result hangs on a tag'],
      ['any more', 'it is not there any more'],
      ['he', 'then he waits'],
    ].map(([what, words]) => ({
      what: what!,
      tree: { 'packages/core/src/a.ts': `/**\n * ${words}\n */\nexport const a = 1\n` },
      at: 'packages/core/src/a.ts:2',
      fix: 'reads like a translation',
    })),
  },
  'no text runs the package freshet, which is not ours': {
    clean: {
      'README.md':
        'Run it: `npx @freshet/cli dev`, `npm create @freshet`.\n\nIn a clone, `npx freshet init ../my-app`.\n',
      'docs/a.md': '`freshet serve`, npx freshet-tools, npm install freshet/freshet\n',
      'tests/src/tidy/rules/a.ts': '// npx freshet',
    },
    planted: ['npx freshet init', 'npx --yes freshet', 'npm install -g freshet', 'npm create freshet@latest'].map(
      line => ({
        what: line,
        tree: { 'docs/a.md': `In a clone, this is right.\n\nHere it is not:\n    ${line}\n` },
        at: 'docs/a.md:4',
        fix: 'Write npx @freshet/cli',
      }),
    ),
  },
}

test('every rule has samples, and every sample has a rule', () => {
  expect(Object.keys(samples).sort()).toEqual(rules.map(rule => rule.claim).sort())
})

for (const { claim, check } of rules) {
  const { clean, planted } = samples[claim]!

  test(`${claim}: a clean tree passes`, () => {
    expect(check(filesOf(clean))).toEqual([])
  })

  for (const { what, tree, at, fix } of planted) {
    test(`${claim}: ${what} is found, with the fix`, () => {
      const findings = check(filesOf(tree))
      expect(findings.map(({ path, line }) => (line === undefined ? path : `${path}:${line}`))).toEqual([at])
      expect(findings[0]?.message).toContain(fix)
    })
  }
}

function filesOf(tree: Tree): SourceFile[] {
  return Object.entries(tree).map(([path, text]) => ({ path, text }))
}
