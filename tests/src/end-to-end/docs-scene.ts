/** The documentation site, built into a temporary folder and served. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSite } from '@freshet/site/dist/build-site.js'
import { type SiteServer, serveSite } from '@freshet/site/dist/serve/serve-site.js'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { repository } from './doc-blocks.js'

export interface DocsScene {
  /** A temporary folder, which contains that of the site. */
  readonly folder: string
  readonly url: string
  /** A file of the site. */
  read(path: string): string
}

/** For all tests of a file or a `describe`. */
export function useDocsSite(): DocsScene {
  const scene = { folder: '', url: '', read: (path: string) => readFileSync(join(scene.folder, 'site', path), 'utf8') }
  let server: SiteServer | undefined
  beforeAll(async () => {
    scene.folder = mkdtempSync(join(tmpdir(), 'freshet-site-'))
    await buildSite(repository, join(scene.folder, 'site'))
    server = await serveSite(join(scene.folder, 'site'), { port: 0 })
    scene.url = server.url
  })
  afterAll(async () => {
    await server?.close()
    rmSync(scene.folder, { recursive: true, force: true })
  })
  return scene
}

export interface Screen {
  readonly width: number
  readonly colorScheme?: 'light' | 'dark'
}

/** In a context of its own: the caller closes that of the page. An error in the page fails the test. */
export async function openDocs(browser: Browser, address: string, { width, colorScheme }: Screen): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 800 }, ...(colorScheme && { colorScheme }) })
  const page = await context.newPage()
  page.on('pageerror', error => expect.unreachable(error.message))
  await page.goto(address)
  return page
}
