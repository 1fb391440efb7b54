/** The state of a ring for people. */
import type { NodeStatus, RingStatus } from '@freshet/stores/cells'
import { withoutPassword } from '../config/store-kind.js'

export function statusText(status: RingStatus): string {
  const { epoch, factor, partitioner, nodes, isChanging } = status
  const replicas =
    typeof factor === 'number'
      ? `${factor} replicas`
      : Object.entries(factor)
          .map(([dataCentre, count]) => `${count} replicas in ${dataCentre}`)
          .join(', ')
  const head = `Ring ${epoch}: ${nodes.length} nodes, ${replicas}, keys ${partitioner === 'hash' ? 'hashed' : 'in order'}.`
  const changing = isChanging ? ['Nodes are joining or leaving: say it again to go on with it.'] : []
  return [head, ...changing, '', ...table(nodes), ...notes(nodes)].join('\n')
}

function table(nodes: readonly NodeStatus[]): readonly string[] {
  const hasLag = nodes.some(({ keys }) => keys !== undefined)
  const columns = ['node', 'state', 'answers in', 'share', 'hints', ...(hasLag ? ['keys', 'behind'] : []), 'where']
  const rows = nodes.map(node => [
    ...[node.name, node.state, node.answerMs === undefined ? '-' : `${node.answerMs.toFixed(1)} ms`],
    ...[`${Math.round(node.share * 100)}%`, `${node.hints}`],
    ...(hasLag ? [`${node.keys ?? '-'}`, `${node.behind ?? '-'}`] : []),
    `${node.dataCentre}/${node.rack}  ${withoutPassword(node.address)}`.trimEnd(),
  ])
  const widths = columns.map((column, i) => Math.max(column.length, ...rows.map(row => row[i]!.length)))
  return [columns, ...rows].map(row =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
}

function notes(nodes: readonly NodeStatus[]): readonly string[] {
  const lines = nodes.flatMap(({ name, state, error }) => {
    if (state === 'forgotten')
      return [`${name} has lost its data: freshet ring leave ${name}, then join it under another name.`]
    return error === undefined ? [] : [`${name}: ${error}`]
  })
  return lines.length === 0 ? [] : ['', ...lines]
}
