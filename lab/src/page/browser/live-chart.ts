/** Draws a line chart in the page, again and again as it grows, in the colours of the stylesheet, light or dark. */
import { type EChartsOption, init, type LineSeriesOption } from 'echarts'
import type { Axis, Line, LinesChart, Reference } from '../../harness/chart.js'
import { formatPercent } from '../../harness/table.js'
import { formatCount } from './format.js'

export type LiveChart = (chart: LinesChart) => void

interface Colours {
  readonly ink: string
  readonly faint: string
  readonly panel: string
  readonly reference: string
  readonly series: readonly string[]
}

const NARROW_PX = 480
const DARK = '(prefers-color-scheme: dark)'
const FONT = 'system-ui, Roboto, Helvetica, Arial, sans-serif'

export function createLiveChart(container: HTMLElement): LiveChart {
  const drawing = init(container, null, { renderer: 'svg' })
  let shown: LinesChart | undefined
  const draw = () =>
    shown &&
    drawing.setOption(toOption(shown, readColours(container), container.clientWidth < NARROW_PX), { notMerge: true })
  new ResizeObserver(() => {
    drawing.resize()
    draw()
  }).observe(container)
  matchMedia(DARK).addEventListener('change', draw)
  return chart => {
    shown = chart
    container.ariaLabel = chart.title
    draw()
  }
}

function readColours(element: HTMLElement): Colours {
  const style = getComputedStyle(element)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  return {
    ink: colour('--ink-soft'),
    faint: colour('--line'),
    panel: colour('--panel'),
    reference: colour('--reference'),
    series: [colour('--first'), colour('--second')],
  }
}

function toOption(chart: LinesChart, colours: Colours, isNarrow: boolean): EChartsOption {
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: colours.ink },
    legend: {
      top: 0,
      left: 0,
      itemGap: 18,
      itemWidth: 28,
      textStyle: { fontSize: 13, color: colours.ink },
      data: chart.series.map(({ name, style }) => ({ name, ...(!isMarked(style) && { itemStyle: { opacity: 0 } }) })),
    },
    tooltip: {
      trigger: 'axis',
      backgroundColor: colours.panel,
      borderColor: colours.faint,
      textStyle: { color: colours.ink, fontSize: 13 },
      valueFormatter: value => (typeof value === 'number' ? formatPercent(value) : '–'),
    },
    grid: { top: 74, left: 8, right: 20, bottom: 34, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    xAxis: { ...axisOption(chart.x, colours), nameLocation: 'middle', nameGap: 34, ...xInterval(chart.x, isNarrow) },
    yAxis: {
      ...axisOption(chart.y, colours),
      nameLocation: 'end',
      nameGap: 24,
      nameTextStyle: { align: 'left', fontSize: 13 },
    },
    series: chart.series.map((line, i) => seriesOption(line, i, colours, i === 0 ? chart.references : [])),
  }
}

/** Marks an axis that ends where its values end in equal parts; the charting library would add a crowded last mark. */
function xInterval({ max }: Axis, isNarrow: boolean): { interval?: number } {
  return max === undefined ? {} : { interval: max / (isNarrow ? 2 : 4) }
}

function axisOption(axis: Axis, colours: Colours) {
  return {
    type: axis.scale === 'log' ? ('log' as const) : ('value' as const),
    name: axis.name,
    nameTextStyle: { fontSize: 13 },
    ...(axis.min !== undefined && { min: axis.min }),
    ...(axis.max !== undefined && { max: axis.max }),
    axisLabel: {
      color: colours.ink,
      fontSize: 12,
      hideOverlap: true,
      formatter: axis.percent ? formatPercent : formatCount,
    },
    axisLine: { lineStyle: { color: colours.ink, opacity: 0.5 } },
    splitLine: { lineStyle: { color: colours.faint } },
  }
}

function seriesOption(
  { name, points, style, colour }: Line,
  index: number,
  colours: Colours,
  references: readonly Reference[] = [],
): LineSeriesOption {
  return {
    type: 'line',
    name,
    data: points.map(([x, y]) => [x, y]),
    color: colours.series[colour ?? index]!,
    showSymbol: isMarked(style),
    symbol: 'circle',
    symbolSize: 6,
    lineStyle: { width: style === 'marks' ? 0 : 2.2, type: style === 'dashed' ? 'dashed' : 'solid' },
    ...(references.length > 0 && { markLine: referenceLines(references, colours) }),
  }
}

/** Only marked curves have a mark in the legend too. */
function isMarked(style: Line['style']): boolean {
  return style === 'marks' || style === 'marked'
}

function referenceLines(references: readonly Reference[], colours: Colours) {
  return {
    silent: true,
    symbol: 'none',
    lineStyle: { color: colours.reference, type: 'dashed' as const, width: 1.5 },
    label: { color: colours.reference, fontSize: 13, formatter: '{b}' },
    data: references.map(({ name, at, axis }) =>
      axis === 'x'
        ? { name, xAxis: at, label: { position: 'end' as const } }
        : { name, yAxis: at, label: { position: 'insideStartTop' as const } },
    ),
  }
}
