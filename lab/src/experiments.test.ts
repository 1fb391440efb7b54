import { expect, it } from 'vitest'
import { benches } from './benches.js'
import { experiments } from './experiments.js'

it.each([...experiments, ...benches])('the entry $name can be loaded and run', async ({ load }) => {
  expect(await load()).toMatchObject({ run: expect.any(Function) })
})

it('no two experiments share a name', () => {
  const names = experiments.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names).not.toContain('list')
  expect(names).not.toContain('all')
})
