/** The page with everything it imports, as files in a folder, for the server to serve. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'

const ENTRY = fileURLToPath(new URL('./browser/load-page.js', import.meta.url))
const HTML = fileURLToPath(new URL('../../../src/experiments/coherence-in-browser/page/index.html', import.meta.url))

export interface BundledPage {
  readonly folder: string
  remove(): void
}

export async function bundlePage(): Promise<BundledPage> {
  const built = (await build({
    configFile: false,
    logLevel: 'error',
    base: '/demo/',
    build: {
      write: false,
      minify: false,
      target: 'esnext',
      rolldownOptions: {
        input: ENTRY,
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
      },
    },
  })) as Rolldown.RolldownOutput
  const folder = mkdtempSync(join(tmpdir(), 'freshet-load-page-'))
  for (const file of built.output) if (file.type === 'chunk') writeFileSync(join(folder, file.fileName), file.code)
  copyFileSync(HTML, join(folder, 'index.html'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
