/**
 * If-Match and If-None-Match (RFC 9110, section 13), in terms of versions. A condition that cannot be understood is an
 * error on a write, never ignored: whoever sends one would lose an update without it.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { FreshetError, parseEtag, type Version } from '@freshet/protocol'

/** `*` for "whatever is there"; else the versions named. Tags of somebody else match no version. */
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

/** Whether a write may go ahead while `version` (0: not there) is what is there. */
export function holds({ match, noneMatch }: Conditions, version: Version): boolean {
  if (match !== undefined && !isAmong(match, version)) return false
  return noneMatch === undefined || !isAmong(noneMatch, version)
}

/** Whether a reader who sent this If-None-Match has this version. Lenient: the worst is a body sent in vain. */
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
