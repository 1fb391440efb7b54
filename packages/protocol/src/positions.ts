/**
 * Positions and versions as text. A position is a place in the change log: 0 before the first commit, then growing, a
 * safe integer. A version is the position of the commit that wrote the object; 0 stands for an absent object.
 */
import { FreshetError } from './freshet-error.js'

/** A place in the change log: 0 before the first commit, then growing, a safe integer. */
export type Position = number
/** The position of the commit that wrote an object; 0 stands for an absent object. */
export type Version = number

const DECIMAL = /^(?:0|[1-9][0-9]{0,15})$/

/** The number that `text` spells canonically (no sign, no leading zero); undefined if the spelling is not canonical. */
export function parsePosition(text: string): Position | undefined {
  if (!DECIMAL.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

/** Reads the parameter `name`. Throws PARAMETER_INVALID. */
export function readPosition(name: string, text: string): Position {
  const position = parsePosition(text)
  if (position !== undefined) return position
  throw new FreshetError(
    'PARAMETER_INVALID',
    `${name} must be a position, a whole number such as 105, not ${JSON.stringify(text.slice(0, 40))}.`,
  )
}

/** How a representation was compressed; each compressed form has its own ETag, as strong ETags must. */
export type Coding = 'br' | 'gzip'

export function formatEtag(version: Version, coding?: Coding): string {
  return coding === undefined ? `"${version}"` : `"${version}-${coding}"`
}

const ETAG = /^(?:W\/)?"([0-9]{1,16})(?:-(?:br|gzip))?"$/

/** The version in one of our ETags, compressed or not; undefined for any other ETag. */
export function parseEtag(text: string): Version | undefined {
  const digits = ETAG.exec(text)?.[1]
  return digits === undefined ? undefined : parsePosition(digits)
}

/** The header with the position that the state of an answer includes. */
export const POSITION_HEADER = 'freshet-position'
