/** A file that is read when its body is first used. */
import { readFileSync } from 'node:fs'

export interface LazyFile {
  readonly contentType: string
  readonly body: Uint8Array
}

export function lazyFile(file: URL, contentType: string): LazyFile {
  let body: Uint8Array | undefined
  return {
    contentType,
    get body() {
      body ??= readFileSync(file)
      return body
    },
  }
}
