import { expect, it } from 'vitest'
import { createProgressBar } from './progress.js'

function watch(isTTY: boolean) {
  const written: string[] = []
  let timeMs = 0
  const bar = createProgressBar('job', { isTTY, write: text => written.push(text) }, () => timeMs)
  const at = (ms: number, done: number) => {
    timeMs = ms
    bar.update(done, 10, 'step')
  }
  return { written, at, end: bar.end }
}

it('draws a bar over itself on a terminal, a few times per second', () => {
  const { written, at, end } = watch(true)
  for (const [ms, done] of [
    [10, 1],
    [150, 5],
    [160, 6],
    [300, 10],
  ] as const)
    at(ms, done)
  end()
  expect(written).toEqual([
    `\r\x1b[2Kjob ${'█'.repeat(15)}${'░'.repeat(15)} 50% step`,
    `\r\x1b[2Kjob ${'█'.repeat(30)}100% step`,
    '\r\x1b[2K',
  ])
})

it('prints a plain line every few seconds elsewhere', () => {
  const { written, at, end } = watch(false)
  for (const [ms, done] of [
    [1000, 1],
    [5000, 5],
    [6000, 6],
    [10_000, 10],
  ] as const)
    at(ms, done)
  end()
  expect(written).toEqual(['job 50% step\n', 'job100% step\n'])
})
