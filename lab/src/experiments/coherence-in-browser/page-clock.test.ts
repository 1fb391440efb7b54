import { expect, it } from 'vitest'
import { compareClocks } from './page-clock.js'

it('the true difference lies between the bounds, however long an answer takes', async () => {
  const difference = 1234.5
  let asked = 0
  const bounds = await compareClocks(async () => {
    const wait = () => new Promise(resolve => setTimeout(resolve, asked % 5))
    asked++
    await wait()
    const theirsMs = performance.now() - difference
    await wait()
    return theirsMs
  })
  expect(asked).toBeGreaterThan(1)
  expect(bounds.leastMs).toBeLessThanOrEqual(difference)
  expect(bounds.mostMs).toBeGreaterThanOrEqual(difference)
})
