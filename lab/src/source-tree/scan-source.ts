/**
 * Splits TypeScript into code and comments without parsing it, so that a rule never trips over a word in a string.
 *
 * Both results are as long as the source and keep its line breaks, so an offset means the same place in all three. In `code`,
 * comments and the contents of strings, templates and regular expressions are blank; quotes stay, and so does the code in a
 * template's `${}`. In `comments`, everything except the comments is blank.
 *
 * Whether a slash divides or starts a regular expression is guessed from the code before it; a wrong guess ends with its
 * line.
 */
export interface ScannedSource {
  readonly code: string
  readonly comments: string
}

const CODE = 0
const COMMENT = 1
const INSIDE = 2

const COMMENT_TOKEN = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y
const QUOTED_TOKEN = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y
const REGEX_TOKEN = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//y
// An operator, an opening bracket or a keyword. Not `x++ / y`, and not `x! / y`, which divides.
const REGEX_MAY_FOLLOW =
  /(?:^|[(,=:[&|?{;*%~^<>]|(?<!\+)\+|(?<!-)-|(?<![\w)\]])!|\b(?:return|typeof|case|of|in|await|yield|void|throw|else))$/
const LOOK_BACK_CHARS = 40

/** Most rules of tidy look at the same files, and scanning is most of their work. */
const scanned = new Map<string, ScannedSource>()

export function scanSource(text: string): ScannedSource {
  const known = scanned.get(text)
  if (known) return known
  const kinds = new Uint8Array(text.length)
  markCode(text, kinds, 0, false)
  const source = { code: keep(text, kinds, CODE), comments: keep(text, kinds, COMMENT) }
  scanned.set(text, source)
  return source
}

/** Marks code from `start` to the end or, inside a template, to the brace that closes it; returns the end. */
function markCode(text: string, kinds: Uint8Array, start: number, inTemplate: boolean): number {
  let at = start
  let depth = 0
  while (at < text.length) {
    const char = text[at]
    if (char === '{') depth++
    if (char === '}' && depth-- === 0 && inTemplate) return at
    at = char === '`' ? markTemplate(text, kinds, at) : markToken(text, kinds, at)
  }
  return at
}

function markTemplate(text: string, kinds: Uint8Array, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '`') {
    if (text.startsWith('${', at)) {
      at = markCode(text, kinds, at + 2, true) + 1
    } else {
      const end = text[at] === '\\' ? at + 2 : at + 1
      kinds.fill(INSIDE, at, end)
      at = end
    }
  }
  return at + 1
}

/** Marks the comment, string or regular expression that starts at `at`, or else skips one character. */
function markToken(text: string, kinds: Uint8Array, at: number): number {
  const comment = tokenEnd(COMMENT_TOKEN, text, at)
  if (comment > at) {
    kinds.fill(COMMENT, at, comment)
    return comment
  }
  const regexMayStart = text[at] === '/' && REGEX_MAY_FOLLOW.test(codeBefore(text, kinds, at))
  const end = Math.max(tokenEnd(QUOTED_TOKEN, text, at), regexMayStart ? tokenEnd(REGEX_TOKEN, text, at) : at)
  if (end === at) return at + 1
  kinds.fill(INSIDE, at + 1, end - 1)
  return end
}

function tokenEnd(token: RegExp, text: string, at: number): number {
  token.lastIndex = at
  return token.test(text) ? token.lastIndex : at
}

function codeBefore(text: string, kinds: Uint8Array, at: number): string {
  const from = Math.max(0, at - LOOK_BACK_CHARS)
  return keep(text.slice(from, at), kinds.subarray(from, at), CODE).trimEnd()
}

function keep(text: string, kinds: Uint8Array, kind: number): string {
  const kept: string[] = []
  for (let at = 0; at < text.length; at++) kept.push(kinds[at] === kind || text[at] === '\n' ? text[at]! : ' ')
  return kept.join('')
}
