/** The three kinds of chart that the experiments draw, as plain objects; `plot.ts` turns them into SVG. */

export interface Axis {
  readonly name: string
  /** Default linear. A logarithmic axis needs positive values. */
  readonly scale?: 'linear' | 'log'
  /** Of the logarithm: 2 gives more marks over a short range. Default 10. */
  readonly base?: 2 | 10
  readonly min?: number
  readonly max?: number
  /** Shows 0.01 as 1%. */
  readonly percent?: boolean
}

/** A dashed line across the chart: a value from the paper, a bound, a target. */
export interface Reference {
  readonly name: string
  readonly at: number
  /** The axis that `at` lies on. Default y; boxes and bars have no other. */
  readonly axis?: 'x' | 'y'
}

export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
  /** Use marks for measured values, and dashes for theory and for curves read off a paper. Default solid. */
  readonly style?: 'solid' | 'dashed' | 'marked' | 'marks'
  /** A place in the palette, so that a measured curve and its theory share a colour. Default: the next in turn. */
  readonly colour?: number
}

interface ChartFrame {
  readonly title: string
  readonly subtitle?: string
  readonly y: Axis
  readonly references?: readonly Reference[]
}

export interface LinesChart extends ChartFrame {
  readonly kind: 'lines'
  readonly x: Axis
  readonly series: readonly Line[]
}

/** A group of bars for each category, a bar in each group for each series. */
export interface BarsChart extends ChartFrame {
  readonly kind: 'bars'
  readonly categories: readonly string[]
  readonly series: readonly { readonly name: string; readonly values: readonly (number | undefined)[] }[]
}

/** Least, lower quartile, median, upper quartile, greatest. */
export type FiveNumbers = readonly [number, number, number, number, number]

export interface BoxesChart extends ChartFrame {
  readonly kind: 'boxes'
  readonly boxes: readonly { readonly name: string; readonly numbers: FiveNumbers }[]
}

export type Chart = LinesChart | BarsChart | BoxesChart
