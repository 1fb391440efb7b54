import { expect, it } from 'vitest'
import { createProgressBar } from './progress.js'

function watch(isTTY: boolean) {
  const written: string[] = []
  let timeMs = 0
  const bar = createProgressBar('job', { isTTY, write: text => written.push(text) }, () => timeMs)
  /** Maps a time in milliseconds to how much is done by then. */
  const run = (doneByMs: Readonly<Record<number, number>>) => {
    for (const [ms, done] of Object.entries(doneByMs)) {
      timeMs = Number(ms)
      bar.update(done, 10, 'step')
    }
    bar.end()
  }
  return { written, run }
}

it('draws a bar over itself on a terminal, a few times per second', () => {
  const { written, run } = watch(true)
  run({ 10: 1, 150: 5, 160: 6, 300: 10 })
  expect(written).toEqual([
    `\r\x1b[2Kjob ${'█'.repeat(15)}${'░'.repeat(15)} 50% step`,
    `\r\x1b[2Kjob ${'█'.repeat(30)}100% step`,
    '\r\x1b[2K',
  ])
})

it('prints a plain line every few seconds elsewhere', () => {
  const { written, run } = watch(false)
  run({ 1000: 1, 5000: 5, 6000: 6, 10000: 10 })
  expect(written).toEqual(['job 50% step\n', 'job100% step\n'])
})
