/**
 * `npm run diagrams`: makes docs/diagrams/NAME.svg from NAME.d2, for light and dark pages. Each picture carries the hash of
 * its source, by which a test notices that a source has changed since.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { D2 } from '@terrastruct/d2'

const FOLDER = fileURLToPath(new URL('../../docs/diagrams', import.meta.url))
const LIGHT_THEME = 0
const DARK_THEME = 200

const d2 = new D2()
for (const name of readdirSync(FOLDER).filter(name => name.endsWith('.d2'))) {
  const source = readFileSync(join(FOLDER, name), 'utf8')
  const { diagram, renderOptions } = await d2.compile(source)
  const look = { themeID: LIGHT_THEME, darkThemeID: DARK_THEME, pad: 20, center: true, noXMLTag: true }
  const svg = await d2.render(diagram, { ...renderOptions, ...look })
  const file = name.replace('.d2', '.svg')
  writeFileSync(join(FOLDER, file), `${svg.trimEnd()}\n<!-- ${sourceNote(source)} -->\n`)
  console.log(`docs/diagrams/${file}`)
}
// The worker that D2 runs in does not end by itself.
process.exit(0)

function sourceNote(source: string): string {
  return `Made by npm run diagrams. SHA-256 of the source: ${createHash('sha256').update(source).digest('hex')}`
}
