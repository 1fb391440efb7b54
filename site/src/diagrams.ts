/**
 * `npm run diagrams`: makes docs/diagrams/NAME.svg from NAME.d2, for light and dark pages. Each picture carries the hash of
 * its source, by which a test notices that a source has changed since. The first line of a source is a comment, and the title of
 * its picture.
 *
 * A picture from left to right is also made from top to bottom, for narrow screens: NAME-narrow.svg.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { D2 } from '@terrastruct/d2'
import { escapeHtml } from './render.js'

const FOLDER = fileURLToPath(new URL('../../docs/diagrams', import.meta.url))
const LIGHT_THEME = 0
const DARK_THEME = 200

const d2 = new D2()
for (const name of readdirSync(FOLDER).filter(name => name.endsWith('.d2'))) {
  const source = readFileSync(join(FOLDER, name), 'utf8')
  await draw(source, name.replace('.d2', '.svg'), source)
  const narrow = source
    .replace('direction: right', 'direction: down')
    .replace(/grid-columns: [23]$/m, 'grid-columns: 1')
  if (source.includes('direction: right')) await draw(narrow, name.replace('.d2', '-narrow.svg'), source)
}
// The worker that D2 runs in does not end by itself.
process.exit(0)

async function draw(text: string, file: string, source: string): Promise<void> {
  const { diagram, renderOptions } = await d2.compile(text)
  const look = { themeID: LIGHT_THEME, darkThemeID: DARK_THEME, pad: 20, center: true, noXMLTag: true }
  const svg = await d2.render(diagram, { ...renderOptions, ...look })
  writeFileSync(join(FOLDER, file), `${withTitle(svg, titleOf(source)).trimEnd()}\n<!-- ${sourceNote(source)} -->\n`)
  console.log(`docs/diagrams/${file}`)
}

function titleOf(source: string): string {
  const [, title] = /^# (.+)\n/.exec(source) ?? []
  if (title === undefined) throw new Error(`The first line of a diagram is its title: "# How a read stays current".`)
  return title
}

/** Inside the outermost element, where screen readers look for it. */
function withTitle(svg: string, title: string): string {
  return svg.replace(/^<svg /, '<svg role="img" ').replace('>', `><title>${escapeHtml(title)}</title>`)
}

function sourceNote(source: string): string {
  return `Made by npm run diagrams. SHA-256 of the source: ${createHash('sha256').update(source).digest('hex')}`
}
