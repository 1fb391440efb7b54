/** Lines of source, comments included, without tests and without the folders that exist for tests. */
import { isCode, isForTests, type SourceFile } from '../../source-tree/source-file.js'

/** The packages that store data: the store, its engines, and their name when they were one package. */
const STORE_PACKAGES = ['stores', 'store', 'engines']
const ENGINES = ['memory', 'embedded', 'lmdb', 'sqlite', 'postgres', 'mariadb', 'redis', 'cassandra', 'quorum']
/** The earlier path of an engine's folder, from before it was named after the engine. */
const ENGINE_PATHS: Readonly<Record<string, string>> = { quorum: 'replicated/log' }

export interface PackageLines {
  readonly packages: Readonly<Record<string, number>>
  readonly store: number
  readonly engines: Readonly<Record<string, number>>
}

export function countLines(files: readonly SourceFile[]): PackageLines {
  const sources = files.filter(({ path }) => isCounted(path))
  const linesBelow = (folder: string) =>
    sources.filter(({ path }) => path.startsWith(`${folder}/`)).reduce((sum, { text }) => sum + linesIn(text), 0)
  const names = [...new Set(sources.map(({ path }) => path.split('/')[1]!))].sort()
  const packages = Object.fromEntries(names.map(name => [name, linesBelow(`packages/${name}/src`)]))
  const engines = ENGINES.map(engine => {
    const folders = STORE_PACKAGES.flatMap(name =>
      [engine, ENGINE_PATHS[engine]].flatMap(folder => (folder ? [`packages/${name}/src/${folder}`] : [])),
    )
    return [engine, folders.reduce((sum, folder) => sum + linesBelow(folder), 0)] as const
  })
  return {
    packages,
    store: STORE_PACKAGES.reduce((sum, name) => sum + (packages[name] ?? 0), 0),
    engines: Object.fromEntries(engines.filter(([, lines]) => lines > 0)),
  }
}

function isCounted(path: string): boolean {
  return /^packages\/[^/]+\/src\//.test(path) && isCode(path) && !isForTests(path)
}

function linesIn(text: string): number {
  return text.trimEnd().split('\n').length
}
