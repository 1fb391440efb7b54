/** `npm run docs`: builds the site into the folder `site/public`, or into the given folder. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSite } from './build-site.js'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const out = resolve(process.argv[2] ?? fileURLToPath(new URL('../public', import.meta.url)))

try {
  const { pages, links, searchBytes } = await buildSite(repository, out)
  console.log(
    `${pages} pages, ${links} links, none of them broken, a search index of ${Math.round(searchBytes / 1024)} KiB: ${out}`,
  )
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
