/** The state of the layout: what each node is responsible for, whether it answers, what it has missed. */
import type { Key } from '@freshet/core/store'
import { compareStamps, EMPTY_RECORD } from '../records/index.js'
import { allRecords } from './all-records.js'
import type { Cells } from './cells.js'
import type { NodeLine } from './node-line.js'

export interface NodeStatus {
  readonly name: string
  readonly address: string
  readonly rack: string
  readonly dataCentre: string
  /** `joining`, `leaving`: records are being moved. `forgotten`: the node answers, but does not know the layout. */
  readonly state: 'up' | 'down' | 'forgotten' | 'joining' | 'leaving'
  readonly answerMs: number | undefined
  /** The epoch of the layout that the node knows. */
  readonly epoch: number | undefined
  /** The share of keys that have a replica on the node, from 0 to 1; with ordered keys, the share of the layout's ranges. */
  readonly share: number
  /** Hints that wait for the node, on the nodes that answer. */
  readonly hints: number
  /** With `lag`: for how many keys the node has an older cell than another replica, and for how many it has a cell. */
  readonly behind?: number
  readonly keys?: number
  /** Why the node is down. */
  readonly error?: string
}

export interface CellsStatus {
  readonly epoch: number
  readonly factor: number | Readonly<Record<string, number>>
  readonly partitioner: string
  readonly isChanging: boolean
  readonly nodes: readonly NodeStatus[]
  readonly ranges: readonly { readonly from: number | string; readonly replicas: readonly string[] }[]
}

interface Seen {
  readonly line: NodeLine
  readonly epoch?: number | undefined
  readonly error?: string
}

/** `lag`: reads every record of every node that answers. */
export async function cellsStatus(
  cells: Cells,
  { lag = false }: { readonly lag?: boolean } = {},
): Promise<CellsStatus> {
  const seen = await Promise.all(cells.lines.map(look))
  const { view, layout } = cells
  const up = seen.filter(({ epoch }) => epoch !== undefined).map(({ line }) => line)
  const hints = await cells.hints.countsOn(up, view)
  const lags = lag ? await lagsOf(cells, up) : undefined
  const nodes = [
    ...layout.nodes,
    ...(layout.before ?? []).filter(({ name }) => !layout.nodes.some(n => n.name === name)),
  ]
  const ranges = view.placement.ranges()
  return {
    ...{
      epoch: layout.epoch,
      factor: layout.factor,
      partitioner: layout.partitioner,
      isChanging: layout.before !== undefined,
    },
    nodes: nodes.map(node => {
      const { line, epoch, error } = seen.find(each => each.line.name === node.name)!
      const changing = layout.before && changeOf(node.name, layout.nodes, layout.before)
      const found = error !== undefined ? 'down' : epoch === undefined ? 'forgotten' : undefined
      return {
        ...{ name: node.name, address: node.address, rack: node.rack, dataCentre: node.dataCentre },
        ...{ state: found ?? changing ?? 'up', answerMs: line.health.answerMs, epoch },
        ...{ share: shareOf(node.name, ranges, layout.partitioner), hints: hints.get(node.name) ?? 0 },
        ...(lags?.get(node.name) ?? {}),
        ...(error === undefined ? {} : { error }),
      }
    }),
    ranges,
  }
}

async function look(line: NodeLine): Promise<Seen> {
  try {
    return { line, epoch: (await line.readLayout())?.layout.epoch }
  } catch (error) {
    return { line, error: error instanceof Error ? error.message : String(error) }
  }
}

function changeOf(
  name: string,
  now: readonly { readonly name: string }[],
  before: readonly { readonly name: string }[],
): 'joining' | 'leaving' | undefined {
  const is = (nodes: readonly { readonly name: string }[]) => nodes.some(node => node.name === name)
  if (is(now) === is(before)) return undefined
  return is(now) ? 'joining' : 'leaving'
}

const RING_SIZE = 2 ** 52

function shareOf(name: string, ranges: CellsStatus['ranges'], partitioner: string): number {
  const sizes = ranges.map(({ from }, i) => {
    if (partitioner !== 'hash') return 1
    const next = ranges[(i + 1) % ranges.length]!.from as number
    const size = next - (from as number)
    return size > 0 ? size : size + RING_SIZE
  })
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const own = ranges.reduce((sum, { replicas }, i) => sum + (replicas.includes(name) ? sizes[i]! : 0), 0)
  return total === 0 ? 0 : own / total
}

async function lagsOf(cells: Cells, up: readonly NodeLine[]) {
  const lags = new Map(up.map(({ name }) => [name, { behind: 0, keys: 0 }]))
  await cells.restarting('status', async view => {
    for (const lag of lags.values()) Object.assign(lag, { behind: 0, keys: 0 })
    for await (const { key, records } of allRecords(up, view.epoch)) count(lags, key, records)
  })
  function count(of: typeof lags, key: Key, records: ReadonlyMap<string, { readonly record: typeof EMPTY_RECORD }>) {
    const names = cells.view.linesOf(key).flatMap(({ name }) => (of.has(name) ? [name] : []))
    const stampOn = (name: string) => (records.get(name)?.record ?? EMPTY_RECORD).stamp
    const latest = names.map(stampOn).reduce((a, b) => (compareStamps(a, b) >= 0 ? a : b), EMPTY_RECORD.stamp)
    for (const name of names) {
      const lag = of.get(name)!
      if (records.has(name)) lag.keys++
      if (compareStamps(stampOn(name), latest) < 0) lag.behind++
    }
  }
  return lags
}
