/** Tables for a terminal: text to the left, numbers to the right, units in the column's name. */
import type { Cell, Table } from './experiment.js'

export function formatTable(table: Table): string {
  const cells = table.rows.map(row => table.columns.map((_, i) => formatCell(row[i])))
  const widths = table.columns.map((name, i) => Math.max(name.length, ...cells.map(row => row[i]!.length)))
  const numeric = table.columns.map((_, i) => cells.every(row => /^[-+\d·]/.test(row[i]!)))
  const line = (row: readonly string[]) =>
    row.map((text, i) => (numeric[i] ? text.padStart(widths[i]!) : text.padEnd(widths[i]!))).join('  ')
  const rule = widths.map(width => '─'.repeat(width)).join('──')
  return [table.title, rule, line(table.columns), rule, ...cells.map(line), rule].map(text => text.trimEnd()).join('\n')
}

/** Four significant digits, the precision that the experiments support. Whole numbers are shown in full. */
function formatCell(cell: Cell): string {
  if (cell === undefined) return '·'
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no'
  return typeof cell === 'number' ? formatNumber(cell) : cell
}

export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return groupThousands(String(value))
  const size = Math.abs(value)
  if (size >= 1000) return groupThousands(value.toFixed(0))
  if (size < 1e-4) return value.toExponential(2)
  return String(Number(value.toPrecision(4)))
}

export function formatPercent(share: number): string {
  return `${Number((share * 100).toPrecision(3))}%`
}

function groupThousands(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ' ')
}
