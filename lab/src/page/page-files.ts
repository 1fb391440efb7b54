/**
 * All files that the page may request, as a table from URL path to file. It is built once, and only an exact match is served:
 * no spelling of `..` can lead out of it.
 *
 *     /                    lab/page/index.html, and its stylesheet beside it
 *     /bloom/...           the filter library as compiled; the page imports it as '@freshet/bloom'
 *     /lab/page/browser/   the page's own modules
 *     /lab/harness/        the few modules of the harness that they import
 *     /echarts.js          the charting library
 */
import { readdirSync } from 'node:fs'

export type PageFiles = ReadonlyMap<string, URL>

const ENTRY = new URL('./browser/filter-page.js', import.meta.url)
const HARNESS = new URL('../harness/', import.meta.url)
const HARNESS_MODULES = ['keys.js', 'random.js', 'table.js']
const STATIC = new URL('../../page/', import.meta.url)

export function listPageFiles(): PageFiles {
  return new Map([
    ['/', new URL('index.html', STATIC)],
    ['/page.css', new URL('page.css', STATIC)],
    ['/echarts.js', new URL(import.meta.resolve('echarts/dist/echarts.esm.min.mjs'))],
    ...HARNESS_MODULES.map(name => [`/lab/harness/${name}`, new URL(name, HARNESS)] as const),
    ...modulesIn(new URL('.', ENTRY), '/lab/page/browser/'),
    ...modulesIn(new URL('.', import.meta.resolve('@freshet/bloom')), '/bloom/'),
  ])
}

function modulesIn(folder: URL, prefix: string): (readonly [path: string, file: URL])[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => name.replaceAll('\\', '/'))
    .filter(name => name.endsWith('.js') && !name.endsWith('.test.js'))
    .map(name => [`${prefix}${name}`, new URL(name, folder)])
}
