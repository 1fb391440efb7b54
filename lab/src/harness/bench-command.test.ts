import { describe, expect, it } from 'vitest'
import type { Bench } from './bench.js'
import { runBench } from './bench-command.js'

const sprint: Bench = {
  run: async ({ quick, seed }) => ({
    summary: { ratio: 2, quickly: quick, seed },
    tables: [{ title: 'Times', columns: ['who', 'ratio'], rows: [['hare', '2.00×']] }],
    notes: ['The hare wins.'],
  }),
}

async function run(...argv: string[]) {
  const written = { stdout: '', stderr: '' }
  const exitCode = await runBench(argv, {
    benches: [{ name: 'sprint', title: 'Who is faster', load: async () => sprint }],
    stdout: { write: text => (written.stdout += text) },
    stderr: { write: text => (written.stderr += text) },
    nowMs: () => 0,
  })
  return { exitCode, ...written }
}

describe('the bench command', () => {
  it('prints tables and notes', async () => {
    const { exitCode, stdout } = await run('sprint')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('hare  2.00×')
    expect(stdout).toContain('The hare wins.')
  })

  it('puts nothing but one JSON object on stdout with --json', async () => {
    const { stdout } = await run('sprint', '--json', '--quick', '--seed', '5')
    expect(JSON.parse(stdout)).toEqual({ bench: 'sprint', quick: true, ratio: 2, quickly: true, seed: 5 })
  })

  it('lists the benches', async () => {
    expect((await run('list')).stdout).toBe('sprint  Who is faster\n')
  })

  it('names the bench that was probably meant', async () => {
    const { exitCode, stderr } = await run('sprnt')
    expect(exitCode).toBe(2)
    expect(stderr).toContain('Did you mean sprint? List them with: npm run bench -- list')
  })

  it('says which benches compare revisions', async () => {
    const { exitCode, stderr } = await run('sprint', '--against', 'HEAD')
    expect(exitCode).toBe(2)
    expect(stderr).toContain('sprint does not compare revisions; commit, http and engines do.')
  })

  it('refuses --figures', async () => {
    const { exitCode, stderr } = await run('sprint', '--figures')
    expect(exitCode).toBe(2)
    expect(stderr).toContain('Benches draw no figures.')
  })
})
