import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createRandom } from '../harness/random.js'
import { runMany } from './run-many.js'

it('operations that are committed again, even after the store was reopened, count once and get their answers', async () => {
  const path = await mkdtemp(join(tmpdir(), 'freshet-run-many-'))
  try {
    const load = { path, random: createRandom(1), operations: 20_000, retryShare: 0.1, onProgress: () => {} }
    const result = await runMany(load)
    expect(result).toMatchObject({ operations: 20_000, reopened: 4, wrongAnswers: 0, unitsWrong: 0, error: 0 })
    expect(result.retries).toBeGreaterThan(1500)
  } finally {
    await rm(path, { recursive: true, force: true })
  }
})
