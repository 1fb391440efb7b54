/**
 * Every source file is reached by imports from an entry point: a file that a package.json lists under `exports` or `bin` or
 * starts in a script, or a test that vitest runs. A file that nothing reaches is deleted, not kept.
 */

import { posix } from 'node:path'
import { scanFileUrls, scanImports } from '@freshet/lab/dist/source-tree/scan-imports.js'
import { isCode, isTest, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { roomOf } from '../rooms.js'
import type { Finding } from '../rule.js'

const VITEST_CONFIG = 'vitest.config.ts'

export function deadFiles(files: readonly SourceFile[]): Finding[] {
  // Ambient declarations (.d.ts) are read by the compiler without an import.
  const sources = files.filter(file => isSource(file.path) && !file.path.endsWith('.d.ts'))
  const reached = reach(sources, doorsOf(files))
  return sources
    .filter(file => !reached.has(file.path))
    .map(file => ({ path: file.path, message: isTest(file.path) ? NOT_RUN : NOT_REACHED }))
}

const NOT_RUN = `No vitest project runs this test. Add its folder to a project in ${VITEST_CONFIG}.`
const NOT_REACHED =
  'No import reaches this file. Delete it, import it, or list it in its package.json (exports, bin) or in a script of ' +
  "the root package.json; a worker is reached by `new URL('./x.js', import.meta.url)`."

function isSource(path: string): boolean {
  const room = roomOf(path)
  return room !== undefined && isCode(path) && path.startsWith(`${room.root}/src/`)
}

function doorsOf(files: readonly SourceFile[]): string[] {
  const manifests = files.filter(file => file.path === 'package.json' || isManifest(file.path))
  return [...manifests.flatMap(file => doorsOfManifest(file)), ...testsRun(files)]
}

function isManifest(path: string): boolean {
  return path === `${roomOf(path)?.root}/package.json`
}

/** The sources of all built files that a package.json mentions in exports, bin or scripts. */
function doorsOfManifest(file: SourceFile): string[] {
  const { exports, bin, scripts } = JSON.parse(file.text) as Record<string, unknown>
  const built = JSON.stringify([exports, bin, scripts]).matchAll(/[\w@./-]*\bdist\/[\w./-]+/g)
  return [...built].map(match => sourceOf(posix.join(posix.dirname(file.path), match[0])))
}

/** dist/x.js and dist/x.d.ts are both built from src/x.ts. */
function sourceOf(builtPath: string): string {
  return builtPath.replace(/(^|\/)dist\//, '$1src/').replace(/(?:\.d)?\.[jt]s$/, '.ts')
}

function testsRun(files: readonly SourceFile[]): string[] {
  const config = files.find(file => file.path === VITEST_CONFIG)?.text ?? ''
  const globs = [...config.matchAll(/'([^'\n]*)\/\*\*\/\*\.test\.ts'/g)].map(match => match[1]!)
  return files
    .map(file => file.path)
    .filter(path => isTest(path) && globs.some(folder => path.startsWith(`${folder}/`)))
}

function reach(sources: readonly SourceFile[], doors: readonly string[]): Set<string> {
  const byPath = new Map(sources.map(file => [file.path, file]))
  const reached = new Set<string>()
  const waiting = [...doors]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = byPath.get(path)
    if (file === undefined || reached.has(path)) continue
    reached.add(path)
    waiting.push(...neighboursOf(file, byPath))
  }
  return reached
}

function neighboursOf(file: SourceFile, byPath: ReadonlyMap<string, SourceFile>): string[] {
  return [...scanImports(file.text), ...scanFileUrls(file.text)]
    .filter(found => found.specifier.startsWith('.'))
    .map(found => posix.join(posix.dirname(file.path), found.specifier))
    .flatMap(path => [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')])
    .filter(path => byPath.has(path))
}
