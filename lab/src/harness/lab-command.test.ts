import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Experiment, ExperimentEntry } from './experiment.js'
import { runLab } from './lab-command.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'freshet-lab-'))
})
afterAll(() => rm(folder, { recursive: true }))

const dice: Experiment = {
  source: 'Noone 1900, figure 1',
  async run({ random, quick, progress }) {
    const throws = Array.from({ length: quick ? 10 : 100 }, () => random.below(6) + 1)
    progress(1, 1, 'thrown')
    return {
      summary: { throws },
      points: [[1, 2]],
      tables: [{ title: 'Throws', columns: ['first', 'last'], rows: [[throws[0], throws.at(-1)]] }],
      plots: [
        {
          name: 'throws',
          chart: {
            kind: 'bars',
            title: 'Throws',
            y: { name: 'eyes' },
            categories: ['a'],
            series: [{ name: 's', values: [1] }],
          },
        },
      ],
      verdicts: [{ claim: 'six is the most', holds: Math.max(...throws) <= 6, detail: 'as on any die' }],
    }
  },
}

const broken: Experiment = {
  ...dice,
  run: async () => ({
    summary: {},
    tables: [],
    plots: [],
    verdicts: [{ claim: 'the moon is cheese', holds: false, detail: '0% cheese' }],
  }),
}

const EXPERIMENTS: readonly ExperimentEntry[] = [
  { name: 'dice', title: 'A die is fair', load: async () => dice },
  { name: 'broken-theory', title: 'The moon is cheese', load: async () => broken },
]

async function run(...argv: string[]) {
  const written = { stdout: '', stderr: '' }
  const exitCode = await runLab(argv, {
    experiments: EXPERIMENTS,
    stdout: { write: text => (written.stdout += text) },
    stderr: { write: text => (written.stderr += text) },
    resultsFolder: join(folder, 'results'),
    figuresFolder: join(folder, 'figures'),
    nowMs: () => 0,
  })
  return { exitCode, ...written, lastLine: written.stdout.trimEnd().split('\n').at(-1)! }
}

describe('the lab command', () => {
  it('prints tables, plots and verdicts, and exits with 0 if all verdicts hold', async () => {
    const { exitCode, stdout } = await run('dice')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('A die is fair (Noone 1900, figure 1)')
    expect(stdout).toContain('✓ six is the most: as on any die')
    expect(stdout).toMatch(/plot .*results.dice.throws\.svg/)
  })

  it('exits with 1 if a verdict does not hold', async () => {
    const { exitCode, stdout } = await run('broken-theory')
    expect(exitCode).toBe(1)
    expect(stdout).toContain('✗ the moon is cheese: 0% cheese')
  })

  it('puts nothing but one JSON object on stdout with --json', async () => {
    const { stdout, stderr, lastLine } = await run('dice', '--json')
    expect(stdout).toBe(`${lastLine}\n`)
    expect(JSON.parse(lastLine)).toMatchObject({ experiment: 'dice', quick: false, points: [[1, 2]], holds: true })
    expect(stderr).toContain('✓ six is the most')
  })

  it('gives the same result for the same seed, and a different one for another seed', async () => {
    const [first, second, other] = await Promise.all(['7', '7', '8'].map(seed => run('dice', '--json', '--seed', seed)))
    expect(second!.lastLine).toBe(first!.lastLine)
    expect(JSON.parse(other!.lastLine).throws).not.toEqual(JSON.parse(first!.lastLine).throws)
  })

  it('gives an experiment the same result alone and within `all`', async () => {
    const alone = JSON.parse((await run('dice', '--json', '--quick')).lastLine)
    const all = await run('all', '--json', '--quick')
    expect(JSON.parse(all.lastLine).experiments.dice).toEqual(alone)
    expect(JSON.parse(all.lastLine).holds).toBe(false)
    expect(all.exitCode).toBe(1)
  })

  it('lists the experiments without loading them', async () => {
    const output: string[] = []
    const load = () => Promise.reject(new Error('loaded'))
    const stream = { write: (text: string) => output.push(text) }
    const surroundings = { stdout: stream, stderr: stream, resultsFolder: '', figuresFolder: '', nowMs: () => 0 }
    const exitCode = await runLab(['list'], { ...surroundings, experiments: [{ name: 'heavy', title: 'Lead', load }] })
    expect(exitCode).toBe(0)
    expect(output).toEqual(['heavy  Lead\n'])
  })

  it('copies the plots to the figures with --figures', async () => {
    await run('dice', '--figures')
    expect(await readdir(join(folder, 'figures'))).toEqual(['dice-throws.svg'])
    expect(await readFile(join(folder, 'figures', 'dice-throws.svg'), 'utf8')).toMatch(/^<svg /)
  })
})

describe('a command line that cannot be run', () => {
  it('suggests the experiment that was probably meant', async () => {
    const { exitCode, stderr } = await run('dcie')
    expect(exitCode).toBe(2)
    expect(stderr).toBe(
      'There is no experiment called "dcie". Did you mean dice? List them with: npm run lab -- list\n',
    )
  })

  it('finds an experiment by a part of its name', async () => {
    expect((await run('theory')).stderr).toContain('Did you mean broken-theory?')
  })

  it('suggests nothing for a name that is far from all others', async () => {
    expect((await run('xylophone')).stderr).toBe(
      'There is no experiment called "xylophone". List them with: npm run lab -- list\n',
    )
  })

  it.each([
    [[], /^Usage: npm run lab/],
    [['dice', 'broken-theory'], /^Pass one name at a time; "broken-theory" is one too many/],
    [['dice', '--fast'], /--fast/],
    [['dice', '--seed', 'x'], /--seed takes a whole number, 0 or more, not "x"/],
    [['dice', '--seed', '1.5'], /not "1\.5"/],
  ])('is refused with a reason: %j', async (argv, reason) => {
    const { exitCode, stderr, stdout } = await run(...argv)
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(reason)
    expect(stdout).toBe('')
  })
})
