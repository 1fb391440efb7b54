/**
 * How hard the code is to follow: the files, functions and lines that a warm request runs through from the client to the
 * embedded store and back (`requests-followed.ts`, by V8's coverage: `touched-code.ts`), import cycles between the folders of a
 * package, the lines of the store and of each engine, and how often its sentences use constructions that read like a
 * translation. Nothing here depends on the speed of the machine.
 *
 * BEFORE is commit f87d25f, measured by this same bench; its constructions are those of commit 564851d.
 */
import { fileURLToPath } from 'node:url'
import type { Bench, BenchResult } from '../../harness/bench.js'
import { countConstructions } from '../../source-tree/constructions.js'
import { folderCycles } from '../../source-tree/folder-cycles.js'
import { readTree } from '../../source-tree/read-tree.js'
import { countLines, type PackageLines } from './package-lines.js'
import { followRequests, REQUESTS, type RequestName } from './requests-followed.js'
import type { Touched } from './touched-code.js'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const REPEATS = { full: 20, quick: 5 }
const BEFORE = {
  files: { get: 23, clientGet: 48, put: 92, transaction: 112, addition: 94 },
  importCycles: 6,
  storeLines: 27_574,
  /** In the order of CONSTRUCTIONS. */
  constructions: [666, 287, 789, 300, 140, 114, 1, 142, 29],
}
const TITLES: Readonly<Record<RequestName, string>> = {
  get: 'GET with fetch',
  clientGet: 'GET with the client',
  put: 'PUT with the client',
  transaction: 'transaction that reads and writes an object',
  addition: 'addition to a counter',
}

export const structure: Bench = {
  async run({ quick, progress }) {
    progress(0, 2, 'following requests')
    const touched = await followRequests(quick ? REPEATS.quick : REPEATS.full)
    progress(1, 2, 'reading the tree')
    const tree = readTree(ROOT)
    return report(touched, folderCycles(tree), countLines(tree), countConstructions(tree))
  },
}

function report(
  touched: Readonly<Record<RequestName, Touched>>,
  cycles: readonly (readonly string[])[],
  lines: PackageLines,
  constructions: Readonly<Record<string, number>>,
): BenchResult {
  const files = Object.fromEntries(REQUESTS.map(name => [`${name}Files`, touched[name].files.length]))
  return {
    summary: {
      ...files,
      lines: Object.fromEntries(REQUESTS.map(name => [name, touched[name].lines])),
      functions: Object.fromEntries(REQUESTS.map(name => [name, touched[name].functions])),
      importCycles: cycles.length,
      cycles: cycles.map(folders => folders.map(shortened)),
      storeLines: { before: BEFORE.storeLines, after: lines.store },
      engines: lines.engines,
      packages: lines.packages,
      constructions,
      before: BEFORE,
    },
    tables: [
      {
        title: 'Code that a warm request runs through',
        columns: ['request', 'files', 'files before', 'functions', 'lines'],
        rows: REQUESTS.map(name => {
          const { files, functions, lines } = touched[name]
          return [TITLES[name], files.length, BEFORE.files[name], functions, lines]
        }),
      },
      {
        title: 'Lines of each engine, without tests',
        columns: ['engine', 'lines'],
        rows: Object.entries(lines.engines),
      },
      {
        title: 'Lines of each package, without tests',
        columns: ['package', 'lines'],
        rows: Object.entries(lines.packages),
      },
      {
        title: 'Constructions that read like a translation, in code and documents',
        columns: ['construction', 'now', 'before'],
        rows: Object.entries(constructions).map(([name, count], i) => [name, count, BEFORE.constructions[i]!]),
      },
    ],
    notes: [
      `Import cycles between folders: ${cycles.length} (before: ${BEFORE.importCycles}).`,
      ...cycles.map(folders => `  ${folders.map(shortened).join(', ')}`),
      `Lines of the store and its engines: ${lines.store} (before: ${BEFORE.storeLines}).`,
    ],
  }
}

function shortened(folder: string): string {
  return folder.replace(/^packages\//, '').replace('/src', '')
}
