/**
 * The files of the console, as made by `bundle/bundle.ts`, by their path below /console. Empty if they were not made: then a
 * server has no console.
 */
import { existsSync, readdirSync } from 'node:fs'
import { type LazyFile, lazyFile } from './lazy-file.js'

const FOLDER = new URL('./files/', import.meta.url)

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

export function listConsoleFiles(): Readonly<Record<string, LazyFile>> {
  if (!existsSync(FOLDER)) return {}
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map(name => name.replaceAll('\\', '/'))
  return Object.fromEntries(
    names.flatMap(name => {
      const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)]
      return contentType === undefined ? [] : [[name, lazyFile(new URL(name, FOLDER), contentType)]]
    }),
  )
}
