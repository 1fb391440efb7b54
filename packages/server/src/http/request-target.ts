/**
 * The request target: one canonical spelling for each thing, so that every cache keeps one copy under one name, and no
 * proxy on the way can read it differently. What has another spelling is told apart from what has none.
 */
import { FreshetError } from '@freshet/protocol'

export interface Target {
  /** Decoded: no slashes, no dot segments, no control characters, none empty. `/` has none at all. */
  readonly segments: readonly string[]
  /** As sent, without the question mark; undefined if there was none. */
  readonly query: string | undefined
  readonly rawPath: string
  /** The one spelling of the path. */
  readonly path: string
}

const PRINTABLE = /^[\x21-\x7e]+$/
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is to find
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f/\\]/

/** Throws URL_INVALID. `host` is the Host header, which an absolute target has to agree with. */
export function parseTarget(raw: string, host: string): Target {
  if (!PRINTABLE.test(raw)) throw invalid('it holds a character that must be percent-encoded')
  const local = originForm(raw, host)
  if (!local.startsWith('/')) throw invalid('it must begin with a slash')
  if (/[#\\]/.test(local)) throw invalid('it holds a # or a backslash')
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

/** Below /db the one spelling is that of @freshet/protocol; elsewhere commas separate, and stay as they are. */
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
  if (segment === '.' || segment === '..') throw invalid('it holds a dot segment')
  if (FORBIDDEN.test(segment)) throw invalid('it holds an encoded slash, backslash or control character')
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
  /** The one spelling, with the question mark; '' if there are no parameters. */
  readonly canonical: string
}

/** Parameters that stand alone, without a value. */
const FLAGS = new Set(['embed', 'explain', 'schemas', 'settings', 'sum'])
/** Parameters that are lists: their commas separate, and are not encoded. */
const LISTS = new Set(['ids'])

/** Throws PARAMETER_INVALID. Canonical: by name, each once, encoded as `encodeValue` does. */
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
  if (raw.includes('+')) throw parameterInvalid(`${name} holds a +. Write %20 for a space and %2B for a plus.`)
  // A value that is a list stays encoded here, since its commas mean something and those in its elements do not.
  if (LISTS.has(name)) {
    const canonical = raw.split(',').map(part => encodeValue(decodeValue(name, part)))
    return { value: canonical.join(','), canonical: `${name}=${canonical.join(',')}` }
  }
  const value = decodeValue(name, raw)
  return { value, canonical: `${name}=${encodeValue(value)}` }
}

/** As encodeURIComponent does, and the apostrophe as well: URL parsers encode it in a query, though not in a path. */
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
  return parameterInvalid(`${JSON.stringify(name.slice(0, 40))} is no parameter of this resource. ${list}`)
}

export function parameterInvalid(message: string): FreshetError {
  return new FreshetError('PARAMETER_INVALID', message)
}

function invalid(reason: string, cause?: unknown): FreshetError {
  return new FreshetError('URL_INVALID', `This URL cannot be answered: ${reason}.`, { cause })
}
