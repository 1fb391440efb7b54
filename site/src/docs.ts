/**
 * `npm run docs`: builds the site, serves it to this machine only, and opens it in a browser. With `--out DIR` it only builds.
 *
 * The exit code is 0 after Ctrl-C or a build, 1 if the site cannot be built or the port is not available, 2 if the command line
 * was wrong.
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSite } from './build-site.js'
import { type DocsArguments, readArguments, UsageError } from './docs-arguments.js'
import { openBrowser } from './serve/open-browser.js'
import { serveSite } from './serve/serve-site.js'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const publicFolder = fileURLToPath(new URL('../public', import.meta.url))

try {
  await run(readArguments(process.argv.slice(2)))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

async function run({ out = publicFolder, serve }: DocsArguments): Promise<void> {
  const { pages, links, searchBytes } = await buildSite(repository, out)
  const size = `${pages} pages, ${links} links, none of them broken, a search index of ${Math.round(searchBytes / 1024)} KiB`
  console.log(`${size}: ${relative('', out) || out}`)
  if (serve === undefined) return
  const site = await serveSite(out, serve)
  if (site.portTaken !== undefined) console.log(`Port ${site.portTaken} is taken by another program.`)
  console.log(`The documentation is at ${site.url} (Ctrl-C stops the server)`)
  const stop = () => void site.close()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  if (serve.opens) openBrowser(site.url, { platform: process.platform, environment: process.env })
}
