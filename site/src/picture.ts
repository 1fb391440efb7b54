/** The sizes of pictures, so that a page has room for them before they are loaded, and the narrow forms of diagrams. */
import { existsSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

export interface Size {
  readonly width: number
  readonly height: number
}

export interface Picture extends Size {
  /** The same diagram for a narrow screen (`npm run diagrams`). */
  readonly narrow?: Size & { readonly path: string }
}

/** `path` is relative to the repository. */
export function pictureAt(repository: string, path: string): Picture {
  const size = sizeOf(join(repository, path))
  const narrow = path.replace(/\.svg$/, '-narrow.svg')
  if (narrow === path || !existsSync(join(repository, narrow))) return size
  return { ...size, narrow: { ...sizeOf(join(repository, narrow)), path: narrow } }
}

function sizeOf(file: string): Size {
  const size = extname(file) === '.svg' ? svgSize(readFileSync(file, 'utf8')) : pngSize(readFileSync(file))
  if (size === undefined) throw new Error(`${file} is neither an SVG with a viewBox nor a PNG, so its size is unknown.`)
  return size
}

function svgSize(text: string): Size | undefined {
  const [, width, height] = /<svg [^>]*viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(text) ?? []
  return width === undefined ? undefined : { width: Math.ceil(Number(width)), height: Math.ceil(Number(height)) }
}

/** The first chunk of a PNG, IHDR, begins at byte 8 and has the size at its beginning. */
function pngSize(bytes: Buffer): Size | undefined {
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}
