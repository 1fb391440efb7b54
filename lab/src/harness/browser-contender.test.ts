import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserContenders, startBrowser } from './browser-contender.js'
import { PAGE_WORKER } from './contender-worker.js'

const PAGE = `let name
globalThis.${PAGE_WORKER} = {
  async prepare(settings) {
    name = settings.name
    const { twice } = await import('./twice.mjs')
    return { name, host: location.hostname, twice: twice(settings.keys) }
  },
  async round() {
    if (name === '@scope/failing') throw new Error('out of bits')
    return { add: 12.5 }
  },
}`

interface Details {
  readonly host: string
  readonly twice: number
}

let folder: string
let browser: BrowserContenders
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'freshet-page-'))
  await writeFile(join(folder, 'twice.mjs'), 'export const twice = number => 2 * number')
  await writeFile(join(folder, 'page.mjs'), PAGE)
  browser = await startBrowser(pathToFileURL(join(folder, 'page.mjs')))
})
afterAll(async () => {
  await browser.stop()
  await rm(folder, { recursive: true })
})

describe('a contender in a page', () => {
  it('is bundled with what it imports, prepared and measured', async () => {
    const contender = await browser.start<Details, 'add'>('good', { name: 'good', keys: 21 })
    expect(contender.details.twice).toBe(42)
    expect(await contender.round()).toEqual({ add: 12.5 })
    await contender.stop()
  })

  it('has a site of its own, and therefore a process of its own', async () => {
    const first = await browser.start<Details, 'add'>('@scope/one', { name: 'one', keys: 1 })
    const second = await browser.start<Details, 'add'>('two.js', { name: 'two', keys: 1 })
    expect([first.details.host, second.details.host]).toEqual(['scope-one.localhost', 'two-js.localhost'])
    await Promise.all([first.stop(), second.stop()])
  })

  it('passes its failure on', async () => {
    const contender = await browser.start<Details, 'add'>('@scope/failing', { name: '@scope/failing', keys: 1 })
    await expect(contender.round()).rejects.toThrow('out of bits')
    await contender.stop()
  })
})
