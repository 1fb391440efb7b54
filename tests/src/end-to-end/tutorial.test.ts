/** docs/tutorials/purge-race.md, followed block by block: in a shell, with the files that it has the reader save, and in a real browser. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@freshet/engines/under-test/free-port'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { describeInChromium, startChromium } from './chromium.js'
import { blocksOf, type DocBlock, repository } from './doc-blocks.js'
import { endFreshetProcesses, startFreshet } from './freshet-process.js'

const BLOCKS = blocksOf('docs/tutorials/purge-race.md')
/** The test itself, or the newcomer's test, runs these. */
const BY_HAND = /^npm ci/
const PROMISED: readonly string[] = ['json', 'text']

describeInChromium('the tutorial', () => {
  let folder: string
  let cachePort: number
  let serverPort: number
  let cache: ChildProcess | undefined

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'freshet-tutorial-'))
    symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
    const server = await startFreshet(['dev', '--data', join(folder, 'data')])
    serverPort = server.port
    cachePort = await freePort()
  })
  afterAll(async () => {
    cache?.kill('SIGKILL')
    await endFreshetProcesses()
    rmSync(folder, { recursive: true, force: true })
  })

  const here = (text: string) => text.replaceAll('7700', `${serverPort}`).replaceAll('8080', `${cachePort}`)

  async function act({ text, language }: DocBlock): Promise<string | undefined> {
    const [, name] = /^(?:\/\/|<!--) (\S+\.(?:mjs|html))/.exec(text) ?? []
    if (name !== undefined) writeFileSync(join(folder, name), here(text))
    if (language !== 'sh' || BY_HAND.test(text)) return undefined
    if (text.startsWith('node cache.mjs')) return startCache()
    const { stdout } = await promisify(execFile)('bash', ['-ec', here(text)], { cwd: folder })
    return stdout
  }

  async function startCache(): Promise<undefined> {
    cache = spawn(process.execPath, ['cache.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(cache.stdout!, 'data')
  }

  test.skipIf(reasonToSkip('curl') !== undefined)('works as written, and its page survives the race', async () => {
    let checked = 0
    for (const [i, block] of BLOCKS.entries()) {
      const printed = await act(block)
      const promised = BLOCKS[i + 1]
      if (printed === undefined || !PROMISED.includes(promised?.language ?? '')) continue
      checked++
      if (promised!.language === 'text') expect(printed.replaceAll('\r', '')).toBe(promised!.text)
      else expect(shapeOf(JSON.parse(printed))).toEqual(shapeOf(JSON.parse(promised!.text)))
    }
    expect(checked).toBeGreaterThanOrEqual(6)
    const browser = await startChromium()
    try {
      const page = await browser.newPage()
      await page.goto(`http://localhost:${cachePort}/page.html`)
      // It connects first.
      await page.waitForFunction(() => document.querySelector('button')?.onclick)
      for (let round = 0; round < 3; round++) {
        const before = await page.locator('#written').innerText()
        await page.getByRole('button').click()
        await expect.poll(() => page.locator('#written').innerText()).not.toBe(before)
        const written = Number(await page.locator('#written').innerText())
        await expect.poll(() => page.locator('#freshet').innerText()).toBe(`${written}`)
        expect(Number(await page.locator('#plain').innerText())).toBeLessThan(written)
      }
    } finally {
      await browser.close()
    }
  })
})

/** Positions, request ids and explanations only need to be there. */
function shapeOf(value: object): unknown {
  const varying = ['version', 'position', 'requestId', 'detail', 'title']
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, varying.includes(name) ? typeof each : each]),
  )
}
