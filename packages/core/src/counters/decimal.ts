/**
 * Counters as text and as whole numbers of their smallest unit: "12.30" with two decimals is 1230 units. Sums of units are
 * exact as long as they are safe integers; beyond that an addition is refused rather than rounded.
 */

const DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.([0-9]+))?$/

/** Undefined if the text is not a number with at most `decimals` decimals, or is too large to be exact. */
export function parseUnits(text: string, decimals: number): number | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const fraction = match[1] ?? ''
  if (fraction.length > decimals) return undefined
  const units = Number(text.replace('.', '') + '0'.repeat(decimals - fraction.length))
  // No -0, which equals 0 but prints differently elsewhere.
  return Number.isSafeInteger(units) ? units + 0 : undefined
}

export function formatUnits(units: number, decimals: number): string {
  if (decimals === 0) return `${units}`
  const digits = `${Math.abs(units)}`.padStart(decimals + 1, '0')
  const sign = units < 0 ? '-' : ''
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
