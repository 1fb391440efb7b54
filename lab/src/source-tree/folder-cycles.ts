/**
 * Import cycles between the folders of a package. A folder stands for everything below it and is compared with the folders beside
 * it, on every level. Files that lie between folders (`index.ts`) belong to none of them. A cycle is a strongly connected
 * component of at least two folders: each of them needs all the others.
 *
 * Tests do not count, nor do folders of code for tests (`under-test`, `testing`): they may use everything they test.
 */
import { posix } from 'node:path'
import { scanImports } from './scan-imports.js'
import { isCode, isForTests, type SourceFile } from './source-file.js'

/** For each folder, the folders beside it that its files import. */
export type FolderGraph = ReadonlyMap<string, ReadonlySet<string>>

const SOURCE = /^packages\/[^/]+\/src\//

/** The folders of each cycle, in order: `packages/server/src/http`. */
export function folderCycles(files: readonly SourceFile[]): string[][] {
  const graph = folderGraph(files)
  return strongComponents(graph)
    .filter(folders => folders.length > 1)
    .map(folders => folders.sort())
    .sort((left, right) => (left[0]! < right[0]! ? -1 : 1))
}

export function folderGraph(files: readonly SourceFile[]): FolderGraph {
  const graph = new Map<string, Set<string>>()
  for (const { path, text } of files) {
    if (!SOURCE.test(path) || !isCode(path) || isForTests(path)) continue
    for (const { specifier } of scanImports(text)) {
      if (!specifier.startsWith('.')) continue
      const sides = foldersApart(path, posix.join(posix.dirname(path), specifier))
      if (sides === undefined || isForTests(`${sides.to}/`)) continue
      graph.set(sides.from, (graph.get(sides.from) ?? new Set()).add(sides.to))
    }
  }
  return graph
}

/** Where the paths of two files diverge: the two neighbouring folders; undefined if one of the files lies there itself. */
function foldersApart(from: string, to: string): { from: string; to: string } | undefined {
  const [left, right] = [from.split('/'), to.split('/')]
  let depth = 0
  while (left[depth] === right[depth] && depth < left.length) depth++
  if (depth >= left.length - 1 || depth >= right.length - 1) return undefined
  return { from: left.slice(0, depth + 1).join('/'), to: right.slice(0, depth + 1).join('/') }
}

/** Tarjan's algorithm ("Depth-first search and linear graph algorithms", 1972). */
function strongComponents(graph: FolderGraph): string[][] {
  const indexOf = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const components: string[][] = []
  const visit = (node: string): void => {
    const index = indexOf.size
    indexOf.set(node, index)
    lowest.set(node, index)
    open.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!indexOf.has(next)) visit(next)
      if (open.includes(next)) lowest.set(node, Math.min(lowest.get(node)!, lowest.get(next)!))
    }
    if (lowest.get(node) === index) components.push(open.splice(open.indexOf(node)))
  }
  for (const node of graph.keys()) if (!indexOf.has(node)) visit(node)
  return components
}
