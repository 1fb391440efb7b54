/**
 * The files of the demo page, by their path below /demo/. It has no bundle: the import map in index.html says that the client is
 * at /client.js.
 *
 *     index.html, page.css   packages/cli/page
 *     page/...               the page's own modules
 *     readme.md              how to use the command
 *
 * A file is read on its first request: a server that no browser visits reads none.
 */
import { readdirSync } from 'node:fs'
import { lazyFile } from '@freshet/console'
import type { PageFile } from '@freshet/server'

const STATIC = new URL('../../page/', import.meta.url)
const MODULES = new URL('./browser/demo-page.js', import.meta.url)
const README = new URL('../../README.md', import.meta.url)
const HTML = 'text/html; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'

export function listPageFiles(): Readonly<Record<string, PageFile>> {
  return Object.fromEntries([
    ['index.html', lazyFile(new URL('index.html', STATIC), HTML)],
    ['page.css', lazyFile(new URL('page.css', STATIC), CSS)],
    ['readme.md', lazyFile(README, TEXT)],
    ...modulesIn(new URL('.', MODULES), 'page/'),
  ])
}

function modulesIn(folder: URL, prefix: string): (readonly [path: string, file: PageFile])[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => name.replaceAll('\\', '/'))
    .filter(name => name.endsWith('.js') && !name.endsWith('.test.js'))
    .map(name => [`${prefix}${name}`, lazyFile(new URL(name, folder), SCRIPT)])
}
