import { describe, expect, it } from 'vitest'
import { benches } from './benches.js'
import { experiments } from './experiments.js'

describe.each([...experiments, ...benches])('the entry $name', entry => {
  it('says what its module says', async () => {
    const { name, title } = await entry.load()
    expect({ name, title }).toEqual({ name: entry.name, title: entry.title })
  })
})

it('no two experiments share a name', () => {
  const names = experiments.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names).not.toContain('list')
  expect(names).not.toContain('all')
})
