/**
 * The order of ids: by their UTF-8 bytes, which is the order of code points. JavaScript's own `<` compares UTF-16
 * units and puts characters beyond U+FFFF, which begin with a surrogate, before U+E000 to U+FFFF.
 */
const SURROGATES_BEGIN = 0xd800
const SURROGATES_END = 0xe000

/** Below 0 if `a` comes before `b`, above if after, 0 if they are the same text. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i)
    const unitB = b.charCodeAt(i)
    if (unitA !== unitB) return rank(unitA) - rank(unitB)
  }
  return a.length - b.length
}

/** Moves surrogates after all other units. */
function rank(unit: number): number {
  if (unit < SURROGATES_BEGIN) return unit
  return unit < SURROGATES_END ? unit + 0x10000 : unit
}
