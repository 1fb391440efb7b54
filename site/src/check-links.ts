/** Finds links between pages that lead nowhere, in the built site. */
import { statSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Rendered } from './render.js'

/** Returns the number of links. Throws if one of them is broken. */
export function checkLinks(rendered: ReadonlyMap<string, Rendered>, out: string): number {
  const all = [...rendered].flatMap(([path, { links }]) => links.map(link => ({ path, link })))
  const broken = all.filter(({ path, link }) => !leadsSomewhere(path, link, rendered, out))
  if (broken.length === 0) return all.length
  throw new Error(`These links are broken:\n${broken.map(({ path, link }) => `${path}: ${link}`).join('\n')}`)
}

function leadsSomewhere(path: string, link: string, rendered: ReadonlyMap<string, Rendered>, out: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? `${path}.html` : posix.join(posix.dirname(path), file)
  const page = rendered.get(target.replace(/\.html$/, ''))
  if (page === undefined) return statSync(join(out, target), { throwIfNoEntry: false }) !== undefined
  return anchor === undefined || page.headings.some(({ id }) => id === anchor)
}
