import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { hashFunction } from './hash-functions.js'
import { testUniformity } from './uniformity.js'

describe('the experiment, as built and run from the command line', () => {
  it('confirms all its claims', async () => {
    const lab = fileURLToPath(new URL('../../../dist/lab.js', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [lab, 'hash-quality', '--quick', '--json'])
    const result = JSON.parse(stdout)
    expect(result.verdicts.filter((verdict: { holds: boolean }) => !verdict.holds)).toEqual([])
    expect(result.uniformityOfOurs).toHaveLength(20)
    expect(result.holds).toBe(true)
  })
})

describe('the uniformity test', () => {
  const what = { kind: 'increasing ids', bits: 1000 } as const

  it('is the same for the same seed', () => {
    const run = () => testUniformity([hashFunction('ours')], what, 2, createRandom(1), () => {})
    expect(run()).toEqual(run())
  })

  it('rejects a function that prefers some places slightly', () => {
    const biased = {
      name: 'biased',
      writeIndexes(key: string | Uint8Array, bits: number, into: Uint32Array) {
        hashFunction('ours').writeIndexes(key, bits, into)
        if (into[0]! % 10 === 0) into[0] = 0
      },
    }
    const [result] = testUniformity([biased], what, 5, createRandom(1), () => {})
    expect(result!.rejections).toBe(5)
  })
})
