/**
 * The files of the console, as `bundle/bundle.ts` has made them, by their path below /console. None if they were not made: then a server has
 * no console. A file is read when it is asked for first.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'

export interface ConsoleFile {
  readonly contentType: string
  readonly body: Uint8Array
}

const FOLDER = new URL('./files/', import.meta.url)

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

export function listConsoleFiles(): Readonly<Record<string, ConsoleFile>> {
  if (!existsSync(FOLDER)) return {}
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map(name => name.replaceAll('\\', '/'))
  return Object.fromEntries(
    names.flatMap(name => {
      const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)]
      return contentType === undefined ? [] : [[name, lazyFile(new URL(name, FOLDER), contentType)]]
    }),
  )
}

function lazyFile(file: URL, contentType: string): ConsoleFile {
  let body: Uint8Array | undefined
  return {
    contentType,
    get body() {
      body ??= readFileSync(file)
      return body
    },
  }
}
