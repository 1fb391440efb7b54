/**
 * Measures the code of this tree and of another revision in one run: `npm run bench -- NAME --against REV`.
 *
 * Each tree runs its own worker of the bench, in its own processes, with the same settings. The rounds alternate, and so
 * does the order within a round, so that a slow spell of the machine hits both. Two processes of one program differ by
 * some per cent as long as they live, depending on where the compiler and the collector put things. So there are several
 * sittings with new processes, and the ratio is the median over the rounds of all sittings.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BenchResult } from './bench.js'
import { type Contender, measureSideBySide, median } from './side-by-side.js'

/** A row is slower if it takes longer than before by more than this share. */
const SLOWER_MAX = 0.03

/** `now` is this tree, `before` the other one. */
export type TreeName = 'now' | 'before'
export interface Tree {
  readonly name: TreeName
  readonly root: string
}

export interface TreeRow {
  readonly name: string
  /** Whether the verdict counts this measure. Other measures are for information. */
  readonly decides: boolean
  /** For each round, the time before divided by the time now. Above 1, the code has become faster. */
  readonly ratios: readonly number[]
}

export interface TreesOptions<Measure extends string> {
  readonly trees: readonly Tree[]
  readonly measures: readonly Measure[]
  readonly sittings: number
  readonly rounds: number
  start(tree: Tree, sitting: number): Promise<Contender<Measure> & { stop(): Promise<void> }>
  readonly onTurn?: (done: number, total: number, name: string) => void
}

/** For each measure, the ratios of all rounds. */
export async function measureTrees<Measure extends string>(
  options: TreesOptions<Measure>,
): Promise<Readonly<Record<Measure, readonly number[]>>> {
  const { trees, measures, sittings, rounds, start, onTurn } = options
  const ratios = Object.fromEntries(measures.map(measure => [measure, []])) as unknown as Record<Measure, number[]>
  for (let sitting = 0; sitting < sittings; sitting++) {
    const contenders: Awaited<ReturnType<typeof start>>[] = []
    try {
      const order = sitting % 2 === 0 ? trees : [...trees].reverse()
      for (const tree of order) contenders.push(named(await start(tree, sitting), tree.name))
      const standings = await measureSideBySide({
        contenders,
        measures,
        rounds,
        onTurn: (done, total, name) => onTurn?.(sitting * total + done, sittings * total, name),
      })
      const roundsOf = (name: TreeName) => standings.find(standing => standing.name === name)!.rounds
      const before = roundsOf('before')
      roundsOf('now').forEach((now, round) => {
        for (const measure of measures) ratios[measure].push(before[round]![measure] / now![measure])
      })
    } finally {
      await Promise.all(contenders.map(contender => contender.stop()))
    }
  }
  return ratios
}

function named<Item extends { readonly name: string }>(contender: Item, name: TreeName): Item {
  return { ...contender, name }
}

/** The contender module of a bench in a tree. Up to commit f87d25f the file was called `child`. */
export function contenderProcess({ root }: Tree, bench: string): URL {
  const folder = join(root, 'lab/dist/bench', bench)
  const found = ['contender-process.js', 'child.js'].map(name => join(folder, name)).find(path => existsSync(path))
  if (found === undefined)
    throw new Error(`${folder} has no contender process: the other revision does not have this bench.`)
  return pathToFileURL(found)
}

export function reportTrees(revision: string, commit: string, rows: readonly TreeRow[]): BenchResult {
  const measured = rows.map(({ name, decides, ratios }) => ({ name, decides, ...spread(ratios) }))
  const slower = measured
    .filter(({ decides, ratio }) => decides && ratio < 1 / (1 + SLOWER_MAX))
    .map(({ name }) => name)
  const limit = `${100 * SLOWER_MAX}%`
  return {
    summary: {
      against: commit,
      ratios: Object.fromEntries(measured.map(({ name, ratio }) => [name, ratio])),
      decides: measured.filter(({ decides }) => decides).map(({ name }) => name),
      slower,
      noneSlower: slower.length === 0,
    },
    tables: [
      {
        title: `Speed relative to ${revision} (${commit.slice(0, 7)})`,
        columns: ['measure', 'ratio', 'lower quartile', 'upper quartile', 'rounds', 'decides'],
        rows: measured.map(each => [each.name, each.ratio, each.low, each.high, each.rounds, each.decides]),
      },
    ],
    notes: [
      slower.length === 0
        ? `No measure is slower by more than ${limit}.`
        : `Slower by more than ${limit}: ${slower.join(', ')}. Run it again on a quiet machine to confirm.`,
    ],
  }
}

function spread(ratios: readonly number[]) {
  const sorted = [...ratios].sort((a, b) => a - b)
  const at = (share: number) => rounded(sorted[Math.floor(share * (sorted.length - 1))]!)
  return { ratio: rounded(median(ratios)), low: at(0.25), high: at(0.75), rounds: ratios.length }
}

function rounded(ratio: number): number {
  return Math.round(ratio * 1000) / 1000
}
