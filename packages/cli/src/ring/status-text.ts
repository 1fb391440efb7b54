/** The state of a ring as text. */
import type { CellsStatus, NodeStatus } from '@freshet/cells'
import { withoutPassword } from '../config/store-kind.js'

export function statusText(status: CellsStatus): string {
  const { epoch, factor, partitioner, nodes, isChanging } = status
  const replicas =
    typeof factor === 'number'
      ? `${factor} replicas`
      : Object.entries(factor)
          .map(([dataCentre, count]) => `${count} replicas in ${dataCentre}`)
          .join(', ')
  const head = `Ring ${epoch}: ${nodes.length} nodes, ${replicas}, keys ${partitioner === 'hash' ? 'hashed' : 'in order'}.`
  const changing = isChanging
    ? ['Nodes are joining or leaving. If that was interrupted, run the same command again.']
    : []
  return [head, ...changing, '', ...nodeTable(nodes), '', ...rangeTable(status), ...notes(nodes)].join('\n')
}

/** A ring of many nodes has thousands of ranges, too many to read. */
const RANGES_SHOWN_MAX = 64
/** If keys are hashed, places on the ring are below this. */
const RING_SIZE = 2 ** 52

/** The nodes that have the replicas of each range of keys, the nearest first. Neighbours with the same replicas are merged. */
function rangeTable({ ranges, partitioner }: CellsStatus): readonly string[] {
  const isNew = ({ replicas }: Range, before: Range | undefined) => replicas.join() !== before?.replicas.join()
  const distinct = ranges.filter((range, i) => isNew(range, ranges[i - 1]))
  const rows = distinct
    .slice(0, RANGES_SHOWN_MAX)
    .map(({ from, replicas }) => [placeText(from, partitioner), replicas.join(', ')])
  const more = distinct.length - rows.length
  return [
    ...aligned([[partitioner === 'hash' ? 'place from' : 'keys from', 'replicas'], ...rows]),
    ...(more > 0 ? [`${more} more are shown with --json.`] : []),
  ]
}

type Range = CellsStatus['ranges'][number]

function placeText(from: Range['from'], partitioner: string): string {
  if (partitioner === 'hash') return `${((100 * Number(from)) / RING_SIZE).toFixed(2)}%`
  return from === '' ? 'the first' : `${from}`
}

function nodeTable(nodes: readonly NodeStatus[]): readonly string[] {
  const hasLag = nodes.some(({ keys }) => keys !== undefined)
  const columns = ['node', 'state', 'answers in', 'share', 'hints', ...(hasLag ? ['keys', 'behind'] : []), 'where']
  const rows = nodes.map(node => [
    ...[node.name, node.state, node.answerMs === undefined ? '-' : `${node.answerMs.toFixed(1)} ms`],
    ...[`${Math.round(node.share * 100)}%`, `${node.hints}`],
    ...(hasLag ? [`${node.keys ?? '-'}`, `${node.behind ?? '-'}`] : []),
    `${node.dataCentre}/${node.rack}  ${withoutPassword(node.address)}`.trimEnd(),
  ])
  return aligned([columns, ...rows])
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows.map(row =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
}

function notes(nodes: readonly NodeStatus[]): readonly string[] {
  const lines = nodes.flatMap(({ name, state, error }) => {
    if (state === 'forgotten')
      return [`${name} has lost its data: freshet ring leave ${name} --lost, then join it again under another name.`]
    return error === undefined ? [] : [`${name}: ${error}`]
  })
  return lines.length === 0 ? [] : ['', ...lines]
}
