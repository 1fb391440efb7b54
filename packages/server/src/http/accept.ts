/** Which of several types a client prefers (RFC 9110, section 12.5.1), as far as one page needs it. */
export function prefers(accept: string | undefined, types: readonly string[]): string | undefined {
  if (accept === undefined) return types[0]
  const ranges = accept.split(',').map(parseRange)
  let best: { readonly type: string; readonly weight: number } | undefined
  for (const type of types) {
    const weight = weightOf(type, ranges)
    if (weight > (best?.weight ?? 0)) best = { type, weight }
  }
  return best?.type
}

interface Range {
  readonly type: string
  readonly weight: number
}

function parseRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  const weight = parameters.find(parameter => parameter.startsWith('q='))
  return { type, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
}

/** Uses the most specific matching range. */
function weightOf(type: string, ranges: readonly Range[]): number {
  const candidates = [type, `${type.split('/', 1)[0]}/*`, '*/*']
  for (const candidate of candidates) {
    const range = ranges.find(({ type: given }) => given === candidate)
    if (range) return range.weight
  }
  return 0
}
