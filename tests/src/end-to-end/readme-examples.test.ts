/** Every ```js block of the READMEs is run; what it prints must be what its comments say. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

describe.each(['README.md', 'packages/bloom/README.md'])('%s', path => {
  const blocks = [...readFileSync(root + path, 'utf8').matchAll(/```js\n(.*?)```/gs)].map(match => match[1]!)

  it('has examples', () => {
    expect(blocks.length).toBeGreaterThan(0)
  })

  it.each(blocks)('prints what it promises:\n%s', block => {
    const promised = [...block.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(match => match[1])
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', block], {
      cwd: root,
      encoding: 'utf8',
    })
    expect(promised.length).toBeGreaterThan(0)
    expect(printed.trimEnd().split('\n')).toEqual(promised)
  })
})
