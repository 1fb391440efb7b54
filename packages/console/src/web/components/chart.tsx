/** Lines over the last minutes, drawn by uPlot in the colours of the page. The latest values are also shown as text. */
import { effect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import Plot from 'uplot'
import { theme } from '../theme.js'
import { count } from './words.js'

export interface Line {
  readonly label: string
  readonly values: readonly (number | undefined)[]
  /** Shown after a value. */
  readonly unit?: string
}

export interface ChartProps {
  readonly title: string
  readonly timesMs: readonly number[]
  readonly lines: readonly Line[]
}

const HEIGHT = 150
const COLOURS = ['--line-1', '--line-2', '--line-3']

export function Chart({ title, timesMs, lines }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | undefined>(undefined)
  const newest = useRef(lines)
  newest.current = lines
  // For a single sample, uPlot would draw a whole day.
  const from = timesMs.length === 1 ? 1 : 0
  const data = [
    timesMs.slice(from).map(ms => ms / 1000),
    ...lines.map(({ values }) => values.slice(from).map(value => value ?? null)),
  ] as Plot.AlignedData
  const drawn = useRef(data)
  drawn.current = data
  useEffect(() => {
    const element = place.current!
    const stop = effect(() => {
      void theme.value
      plot.current?.destroy()
      plot.current = new Plot(optionsOf(element, newest.current), drawn.current, element)
    })
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      stop()
      plot.current?.destroy()
    }
  }, [])
  useEffect(() => plot.current?.setData(data))
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
      <ul class="legend">
        {lines.map(({ label, values, unit = '' }, i) => (
          <li key={label} class={`line-${i + 1}`}>
            {label} <b class="number">{values.at(-1) === undefined ? '–' : `${count(values.at(-1)!)}${unit}`}</b>
          </li>
        ))}
      </ul>
    </figure>
  )
}

function optionsOf(element: HTMLElement, lines: readonly Line[]): Plot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--edge'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      {
        ...axis,
        size: 26,
        values: (_plot, times) => times.map(time => new Date(time * 1000).toLocaleTimeString('en-GB')),
        space: 90,
      },
      { ...axis, size: 44, space: 30 },
    ],
    series: [
      {},
      ...lines.map(({ label }, i) => ({ label, stroke: colour(COLOURS[i]!), width: 2, points: { show: false } })),
    ],
  }
}
