/**
 * If-Match and If-None-Match (RFC 9110, section 13), in terms of versions. On a write, a condition that cannot be parsed is an
 * error and never ignored: without it, the client could overwrite another client's update.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { FreshetError, parseEtag, type Version } from '@freshet/protocol'

/** `*` for any version; otherwise the listed versions. ETags of other origins match no version. */
export type Tags = '*' | readonly Version[]

export interface Conditions {
  readonly match?: Tags
  readonly noneMatch?: Tags
}

const TAG = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/

/** Throws HEADER_INVALID. */
export function readConditions(headers: IncomingHttpHeaders): Conditions {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  return {
    ...(match === undefined ? {} : { match: readTags('If-Match', match, 'strong') }),
    ...(noneMatch === undefined ? {} : { noneMatch: readTags('If-None-Match', noneMatch, 'weak') }),
  }
}

export function isConditional({ match, noneMatch }: Conditions): boolean {
  return match !== undefined || noneMatch !== undefined
}

/** Whether a write may proceed if the object has this `version` (0: absent). */
export function holds({ match, noneMatch }: Conditions, version: Version): boolean {
  if (match !== undefined && !isAmong(match, version)) return false
  return noneMatch === undefined || !isAmong(noneMatch, version)
}

/** Whether a reader that sent this If-None-Match has this version. Lenient: at worst, a body is sent needlessly. */
export function hasVersion(ifNoneMatch: string, version: Version): boolean {
  if (parseEtag(ifNoneMatch) === version) return true
  if (!ifNoneMatch.includes(',')) return ifNoneMatch.trim() === '*'
  return ifNoneMatch.split(',').some(tag => parseEtag(tag.trim()) === version)
}

function isAmong(tags: Tags, version: Version): boolean {
  return version !== 0 && (tags === '*' || tags.includes(version))
}

function readTags(header: string, text: string, comparison: 'strong' | 'weak'): Tags {
  if (text.trim() === '*') return '*'
  const versions: Version[] = []
  for (const tag of text.split(',')) {
    const [, weak] = TAG.exec(tag) ?? [undefined, null]
    if (weak === null) throw invalid(header, text)
    const version = parseEtag(tag.trim())
    if (version !== undefined && !(weak && comparison === 'strong')) versions.push(version)
  }
  return versions
}

function invalid(header: string, text: string): FreshetError {
  return new FreshetError(
    'HEADER_INVALID',
    `${header} must be * or a list of ETags in double quotes, such as "105", not ${JSON.stringify(text.slice(0, 80))}.`,
  )
}
