/** Draws a chart as the text of an SVG file, with Apache ECharts and without a browser. */
import { type EChartsOption, init, type LineSeriesOption, type SeriesOption } from 'echarts'
import type { Axis, BarsChart, BoxesChart, Chart, Line, LinesChart, Reference } from './chart.js'
import { formatNumber, formatPercent } from './table.js'

const WIDTH = 900
const HEIGHT = 560
// No font name with a space: ECharts writes the quotes around it straight into an attribute, which breaks the file.
const FONT = 'system-ui, Roboto, Helvetica, Arial, sans-serif'
const INK = '#1f2933'
const FAINT = '#e4e7eb'
const REFERENCE_COLOUR = '#c2410c'
// Okabe and Ito's palette, which colour-blind readers can tell apart. Its yellow is left out, too pale on white.
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#7f7f7f', '#1f2933']
// Roughly the width of a character at the axes' font size, to make room for slanted names.
const CHARACTER_PX = 7
const SLANT_DEGREES = 30
const REFERENCE_LABEL_PX = 92
const LEGEND_ROW_PX = 24
const LEGEND = { itemGap: 22, itemWidth: 32, textStyle: { fontSize: 13, color: INK } }

export function renderSvg(chart: Chart): string {
  const canvas = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT })
  try {
    canvas.setOption(toOption(chart))
    return withoutTraces(canvas.renderToSVGString())
  } finally {
    canvas.dispose()
  }
}

/**
 * Removes what serves pages with a mouse pointer, and the numbers that count charts since the process started. Without
 * them, a file depends on its chart alone.
 */
function withoutTraces(svg: string): string {
  return svg
    .replace(/<style ?>.*?<\/style>\n?/s, '')
    .replaceAll(/ (?:class="zr\d+-cls-\d+"|ecmeta_\w+="[^"]*"|pointer-events="visible")/g, '')
    .replaceAll(/\bzr\d+-/g, 'zr-')
}

function toOption(chart: Chart): EChartsOption {
  switch (chart.kind) {
    case 'lines':
      return linesOption(chart)
    case 'bars':
      return barsOption(chart)
    case 'boxes':
      return boxesOption(chart)
  }
}

function linesOption(chart: LinesChart): EChartsOption {
  const series = chart.series.map(lineSeries)
  const xAxis = { ...valueAxis(chart.x), nameLocation: 'middle' as const, nameGap: 36 }
  return { ...frame(chart, 76), xAxis, yAxis: yAxis(chart.y), series: withReferences(series, chart.references) }
}

function lineSeries({ name, points, style = 'solid', colour }: Line, index: number): LineSeriesOption {
  const marked = style === 'marked' || style === 'marks'
  return {
    type: 'line',
    name,
    data: points.map(([x, y]) => [x, y]),
    symbol: 'circle',
    symbolSize: 7,
    showSymbol: marked,
    color: PALETTE[(colour ?? index) % PALETTE.length]!,
    lineStyle: { width: style === 'marks' ? 0 : 2.2, type: style === 'dashed' ? 'dashed' : 'solid' },
  }
}

function barsOption(chart: BarsChart): EChartsOption {
  const series = chart.series.map(
    ({ name, values }): SeriesOption => ({
      type: 'bar',
      name,
      data: values.map(value => value ?? '-'),
      barGap: '10%',
      barCategoryGap: '30%',
    }),
  )
  const names = categoryAxis(chart.categories)
  return {
    ...frame(chart, names.room),
    xAxis: names.axis,
    yAxis: yAxis(chart.y),
    series: withReferences(series, chart.references),
  }
}

function boxesOption(chart: BoxesChart): EChartsOption {
  const box: SeriesOption = {
    type: 'boxplot',
    data: chart.boxes.map(({ numbers }) => [...numbers]),
    itemStyle: { color: '#cfe3f1', borderColor: PALETTE[0]!, borderWidth: 1.8 },
    boxWidth: [8, 48],
  }
  const names = categoryAxis(chart.boxes.map(({ name }) => name))
  return {
    ...frame(chart, names.room),
    xAxis: names.axis,
    yAxis: yAxis(chart.y),
    series: withReferences([box], chart.references),
  }
}

/** Title, legend and margins. The legend stands above the plot, where no curve can run through it. */
function frame(chart: Chart, bottom: number): EChartsOption {
  const names = chart.kind === 'boxes' || chart.series.length < 2 ? [] : chart.series.map(({ name }) => name)
  const legendTop = chart.subtitle ? 66 : 46
  const hasReferenceAcross = chart.references?.some(({ axis }) => axis !== 'x')
  return {
    animation: false,
    backgroundColor: '#ffffff',
    color: PALETTE,
    textStyle: { fontFamily: FONT, color: INK },
    title: {
      text: chart.title,
      subtext: chart.subtitle ?? '',
      left: 'center',
      top: 14,
      textStyle: { fontSize: 18, fontWeight: 600, color: INK },
      subtextStyle: { fontSize: 13, color: '#52606d' },
    },
    legend: { ...LEGEND, show: names.length > 0, top: legendTop, data: legendItems(chart) },
    grid: {
      left: 104,
      right: hasReferenceAcross ? REFERENCE_LABEL_PX + 16 : 40,
      top: legendTop + 22 + legendRows(names) * LEGEND_ROW_PX,
      bottom,
      outerBoundsMode: 'none',
    },
  }
}

/** Only marked curves have a mark in the legend. */
function legendItems(chart: Chart) {
  if (chart.kind === 'boxes') return []
  if (chart.kind === 'bars') return chart.series.map(({ name }) => ({ name }))
  const isMarked = ({ style }: Line) => style === 'marked' || style === 'marks'
  return chart.series.map(line => ({ name: line.name, ...(!isMarked(line) && { itemStyle: { opacity: 0 } }) }))
}

/** How many rows ECharts will break the legend into. */
function legendRows(names: readonly string[]): number {
  const widths = names.map(name => LEGEND.itemWidth + LEGEND.itemGap + 8 + name.length * CHARACTER_PX)
  let rows = names.length > 0 ? 1 : 0
  let used = 0
  for (const width of widths) {
    if (used + width > WIDTH - 20) {
      rows++
      used = 0
    }
    used += width
  }
  return rows
}

function yAxis(axis: Axis) {
  return { ...valueAxis(axis), nameLocation: 'middle' as const, nameGap: 76 }
}

function valueAxis(axis: Axis) {
  return {
    type: axis.scale === 'log' ? ('log' as const) : ('value' as const),
    logBase: axis.base ?? 10,
    name: axis.name,
    nameTextStyle: { fontSize: 14, color: INK },
    ...(axis.min !== undefined && { min: axis.min }),
    ...(axis.max !== undefined && { max: axis.max }),
    scale: axis.min === undefined,
    axisLabel: { fontSize: 13, color: INK, formatter: axis.percent ? formatPercent : formatNumber },
    axisLine: { show: true, lineStyle: { color: '#9aa5b1' } },
    splitLine: { lineStyle: { color: FAINT } },
  }
}

/** Names that do not fit side by side are slanted, and get the room for it. */
function categoryAxis(names: readonly string[]) {
  const longestPx = Math.max(...names.map(name => name.length)) * CHARACTER_PX
  const slanted = longestPx > (WIDTH - 132) / names.length
  const slant = (SLANT_DEGREES * Math.PI) / 180
  return {
    room: slanted ? 34 + Math.min(longestPx, 180) * Math.sin(slant) : 48,
    axis: {
      type: 'category' as const,
      data: [...names],
      axisLabel: { fontSize: 13, color: INK, interval: 0, rotate: slanted ? SLANT_DEGREES : 0 },
      axisLine: { lineStyle: { color: '#9aa5b1' } },
      axisTick: { show: false },
    },
  }
}

function withReferences(series: SeriesOption[], references: readonly Reference[] = []): SeriesOption[] {
  const first = series[0]
  if (!first || references.length === 0) return series
  const markLine = {
    silent: true,
    symbol: 'none',
    lineStyle: { color: REFERENCE_COLOUR, type: 'dashed' as const, width: 1.8 },
    label: { color: REFERENCE_COLOUR, fontSize: 13, position: 'end' as const, formatter: '{b}' },
    data: references.map(toMarkLine),
  }
  return [{ ...first, markLine } as SeriesOption, ...series.slice(1)]
}

/** The name stands in the margin: to the right of a line across, above a line from top to bottom. */
function toMarkLine({ name, at, axis }: Reference) {
  if (axis === 'x') return { name, xAxis: at }
  return { name, yAxis: at, label: { width: REFERENCE_LABEL_PX, overflow: 'break' as const } }
}
