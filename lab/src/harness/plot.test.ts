import { describe, expect, it } from 'vitest'
import type { Chart } from './chart.js'
import { renderSvg } from './plot.js'

const charts: Record<Chart['kind'], Chart> = {
  lines: {
    kind: 'lines',
    title: 'Rate & load <measured>',
    subtitle: 'so "and" so',
    x: { name: 'load', scale: 'log' },
    y: { name: 'rate', percent: true, min: 0 },
    series: [
      {
        name: 'measured',
        style: 'marked',
        points: [
          [1, 0.1],
          [10, 0.2],
          [100, 0.4],
        ],
      },
      {
        name: 'expected',
        style: 'dashed',
        colour: 0,
        points: [
          [1, 0.1],
          [100, 0.4],
        ],
      },
    ],
    references: [
      { name: 'paper', at: 0.3 },
      { name: 'planned', at: 10, axis: 'x' },
    ],
  },
  bars: {
    kind: 'bars',
    title: 'Bars',
    y: { name: 'times' },
    categories: ['one', 'two'],
    series: [
      { name: 'ours', values: [1, undefined] },
      { name: 'theirs', values: [2, 3] },
    ],
  },
  boxes: {
    kind: 'boxes',
    title: 'Boxes',
    y: { name: 'chi-squared' },
    boxes: [{ name: 'a rather long name that does not fit', numbers: [1, 2, 3, 4, 5] }],
    references: [{ name: 'critical', at: 4.5 }],
  },
}

/** Every tag is well-formed XML and the tags close in order. */
function isWellFormed(xml: string): boolean {
  const open: string[] = []
  const tag = /<(\/?)([a-z]\w*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|<|&(?!(?:amp|lt|gt|quot);)/gi
  for (const [, closing, name, , closed] of xml.matchAll(tag)) {
    if (name === undefined) return false
    if (closing) {
      if (open.pop() !== name) return false
    } else if (!closed) open.push(name)
  }
  return open.length === 0
}

describe.each(Object.values(charts))('a chart of $kind', chart => {
  it('is a well-formed SVG file', () => {
    const svg = renderSvg(chart)
    expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
    expect(isWellFormed(svg)).toBe(true)
  })

  it('shows its title, its axis and its references', () => {
    const svg = renderSvg(chart)
    const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    const names = [chart.title, chart.y.name, ...(chart.references ?? []).map(({ name }) => name)]
    for (const name of names) expect(svg).toContain(escaped(name))
  })

  it('is the same file each time', () => {
    expect(renderSvg(chart)).toBe(renderSvg(chart))
  })
})

describe('the check for well-formed files', () => {
  it.each(['<svg a="b"c""></svg>', '<svg><g></svg></g>', '<svg>', '<svg>a & b</svg>', '<svg>1 < 2</svg>'])(
    'sees through %s',
    xml => {
      expect(isWellFormed(xml)).toBe(false)
    },
  )
})
