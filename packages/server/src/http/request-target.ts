/**
 * The request target: each resource has one canonical spelling, so that every cache keeps one copy under one name, and no proxy
 * on the way can read it differently. A target with another spelling is redirected; an ambiguous one is refused.
 */
import { FreshetError } from '@freshet/protocol'

export interface Target {
  /** Decoded: no slashes, no dot segments, no control characters, no empty ones. `/` has no segments. */
  readonly segments: readonly string[]
  /** As sent, without the question mark; undefined if the target has no query. */
  readonly query: string | undefined
  readonly rawPath: string
  /** The canonical spelling of the path. */
  readonly path: string
}

const PRINTABLE = /^[\x21-\x7e]+$/
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression must find them
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f/\\]/

/** Throws URL_INVALID. `host` is the Host header, with which an absolute target must agree. */
export function parseTarget(raw: string, host: string): Target {
  if (!PRINTABLE.test(raw)) throw invalid('it contains a character that must be percent-encoded')
  const local = originForm(raw, host)
  if (!local.startsWith('/')) throw invalid('it must start with a slash')
  if (/[#\\]/.test(local)) throw invalid('it contains a # or a backslash')
  const mark = local.indexOf('?')
  const rawPath = mark === -1 ? local : local.slice(0, mark)
  const segments = rawPath === '/' ? [] : rawPath.slice(1).split('/').map(decodeSegment)
  return {
    segments,
    rawPath,
    path: canonicalPath(segments),
    query: mark === -1 ? undefined : local.slice(mark + 1),
  }
}

/** Below /db, the spelling of @freshet/protocol is canonical. Elsewhere, commas are separators and stay unencoded. */
function canonicalPath(segments: readonly string[]): string {
  const path = `/${segments.map(encodeURIComponent).join('/')}`
  return segments[0] === 'db' ? path : path.replaceAll('%2C', ',')
}

function originForm(raw: string, host: string): string {
  const [, authority, rest] = ABSOLUTE.exec(raw) ?? []
  if (authority === undefined || rest === undefined) return raw
  if (authority.toLowerCase() !== host.toLowerCase()) throw invalid('it names another host than the Host header')
  return rest.startsWith('/') ? rest : `/${rest}`
}

function decodeSegment(raw: string): string {
  const segment = decode(raw)
  if (segment === '') throw invalid('it has two slashes in a row, or one at the end')
  if (segment === '.' || segment === '..') throw invalid('it contains a dot segment')
  if (FORBIDDEN.test(segment)) throw invalid('it contains an encoded slash, backslash or control character')
  return segment
}

function decode(raw: string): string {
  try {
    return decodeURIComponent(raw)
  } catch (cause) {
    throw invalid('it is not percent-encoded UTF-8', cause)
  }
}

export type Parameters = ReadonlyMap<string, string>

export interface Query {
  readonly parameters: Parameters
  /** The canonical spelling, with the question mark; '' if there are no parameters. */
  readonly canonical: string
}

/** Parameters that stand alone, without a value. */
const FLAGS = new Set(['embed', 'explain', 'schemas', 'settings', 'sum'])
/** Parameters that are lists: their commas are separators, and are not encoded. */
const LISTS = new Set(['ids'])

/** Throws PARAMETER_INVALID. Canonical: sorted by name, each once, encoded by `encodeValue`. */
export function parseQuery(query: string | undefined, known: readonly string[]): Query {
  if (query === undefined || query === '') return { parameters: new Map(), canonical: '' }
  const parameters = new Map<string, string>()
  const spelled = new Map<string, string>()
  for (const part of query.split('&')) {
    const equals = part.indexOf('=')
    const name = equals === -1 ? part : part.slice(0, equals)
    if (!known.includes(name)) throw unknownParameter(name, known)
    if (parameters.has(name)) throw parameterInvalid(`${name} is given twice. Give it once.`)
    const { value, canonical } = readValue(name, equals === -1 ? undefined : part.slice(equals + 1))
    parameters.set(name, value)
    spelled.set(name, canonical)
  }
  const names = [...spelled.keys()].sort()
  return { parameters, canonical: `?${names.map(name => spelled.get(name)).join('&')}` }
}

function readValue(name: string, raw: string | undefined): { value: string; canonical: string } {
  if (FLAGS.has(name)) {
    if (raw === undefined || raw === '' || raw === '1' || raw === 'true') return { value: '', canonical: name }
    throw parameterInvalid(`${name} takes no value: write ?${name}, or leave it out.`)
  }
  if (raw === undefined || raw === '') throw parameterInvalid(`${name} needs a value: write ${name}=...`)
  if (raw.includes('+')) throw parameterInvalid(`${name} contains a +. Write %20 for a space and %2B for a plus.`)
  // A list stays encoded here, to distinguish the commas between elements from those in them.
  if (LISTS.has(name)) {
    const canonical = raw.split(',').map(part => encodeValue(decodeValue(name, part)))
    return { value: canonical.join(','), canonical: `${name}=${canonical.join(',')}` }
  }
  const value = decodeValue(name, raw)
  return { value, canonical: `${name}=${encodeValue(value)}` }
}

/** Encodes like encodeURIComponent, and the apostrophe as well, which URL parsers encode in a query, though not in a path. */
function encodeValue(value: string): string {
  return encodeURIComponent(value).replaceAll("'", '%27')
}

function decodeValue(name: string, raw: string): string {
  try {
    return decodeURIComponent(raw)
  } catch (cause) {
    throw new FreshetError('PARAMETER_INVALID', `${name} is not percent-encoded UTF-8.`, { cause })
  }
}

function unknownParameter(name: string, known: readonly string[]): FreshetError {
  const list = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`
  return parameterInvalid(`${JSON.stringify(name.slice(0, 40))} is not a parameter of this resource. ${list}`)
}

export function parameterInvalid(message: string): FreshetError {
  return new FreshetError('PARAMETER_INVALID', message)
}

function invalid(reason: string, cause?: unknown): FreshetError {
  return new FreshetError('URL_INVALID', `This URL cannot be answered: ${reason}.`, { cause })
}
