import { expect, it } from 'vitest'
import { measureTrees, reportTrees, type Tree, type TreeName } from './compare-trees.js'

const TREES: readonly Tree[] = [
  { name: 'now', root: '/now' },
  { name: 'before', root: '/before' },
]

it('takes both trees in every round of every sitting, each sitting with new processes', async () => {
  const log: string[] = []
  const ns: Readonly<Record<TreeName, number>> = { now: 50, before: 100 }
  const ratios = await measureTrees<'get'>({
    trees: TREES,
    measures: ['get'],
    sittings: 2,
    rounds: 1,
    start: async ({ name }, sitting) => {
      log.push(`start ${name} ${sitting}`)
      return {
        name,
        round: async () => {
          log.push(name)
          return { get: ns[name] }
        },
        stop: async () => void log.push(`stop ${name} ${sitting}`),
      }
    },
  })
  expect(ratios).toEqual({ get: [2, 2] })
  // The first round of a sitting warms up.
  const sitting0 = ['start now 0', 'start before 0', 'now', 'before', 'before', 'now', 'stop now 0', 'stop before 0']
  const sitting1 = ['start before 1', 'start now 1', 'before', 'now', 'now', 'before', 'stop before 1', 'stop now 1']
  expect(log).toEqual([...sitting0, ...sitting1])
})

it('reports a deciding measure whose median is slower by more than 3%, and no other', () => {
  const rows = [
    { name: 'as before', decides: true, ratios: [0.9, 0.975, 1.2] },
    { name: 'slower', decides: true, ratios: [0.9, 0.965, 1.2] },
    { name: 'for information', decides: false, ratios: [0.5] },
  ]
  const { summary, notes } = reportTrees('v1', '0123456789abcdef', rows)
  expect(summary).toMatchObject({ against: '0123456789abcdef', slower: ['slower'], noneSlower: false })
  expect(summary.ratios).toEqual({ 'as before': 0.975, slower: 0.965, 'for information': 0.5 })
  expect(notes[0]).toContain('Slower by more than 3%: slower.')
  expect(reportTrees('v1', '0', rows.slice(0, 1)).notes).toEqual(['No measure is slower by more than 3%.'])
})
