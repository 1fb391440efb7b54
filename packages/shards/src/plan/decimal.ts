/**
 * Exact decimals, with the rules by which the engines choose how many digits a quotient has: a division here must have the same
 * result as there.
 */
import type { Dialect } from './shard-map.js'

export interface Decimal {
  readonly units: bigint
  /** Digits after the point. */
  readonly scale: number
}

const MARIADB = {
  /** The most digits after the point. */
  scaleMax: 38,
  /** div_precision_increment, which the shards' sessions do not change. */
  moreDigits: 4,
  wordDigits: 9,
}
/** PostgreSQL keeps numbers in groups of digits, and counts by groups. */
const POSTGRES = { digitsMin: 16, groupDigits: 4 }

export function parseDecimal(text: string): Decimal | undefined {
  const [, sign, whole, fraction = ''] = /^([-+]?)(\d+)(?:\.(\d*))?$/.exec(text) ?? []
  if (whole === undefined) return undefined
  const units = BigInt(whole + fraction)
  return { units: sign === '-' ? -units : units, scale: fraction.length }
}

export function formatDecimal({ units, scale }: Decimal): string {
  const digits = `${units < 0n ? -units : units}`.padStart(scale + 1, '0')
  const point = digits.length - scale
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`
}

/** Equal for equal numbers. */
export function plainDecimal(decimal: Decimal): string {
  const text = formatDecimal(decimal)
  return text.includes('.') ? text.replace(/\.?0+$/, '').replace(/^-0$/, '0') : text
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return { units: unitsAt(a, scale) + unitsAt(b, scale), scale }
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, { ...b, units: -b.units })
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale }
}

export function compare(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale)
  const [x, y] = [unitsAt(a, scale), unitsAt(b, scale)]
  return x < y ? -1 : x > y ? 1 : 0
}

/**
 * `b` must not be 0. MariaDB (do_div_mod of strings/decimal.c) keeps digits in words of nine, and a quotient has as many whole
 * words as four more digits need. It is cut off there, and rounded to the digits shown only when it is shown.
 */
export function divide(a: Decimal, b: Decimal, dialect: Dialect): Decimal {
  const isMariadb = dialect === 'mariadb'
  const scale = isMariadb ? mariadbScale(a.scale, b.scale) : postgresScale(a, b)
  const [n, d] = [a.units * 10n ** BigInt(b.scale + scale), b.units * 10n ** BigInt(a.scale)]
  return { units: isMariadb ? n / d : roundedQuotient(n, d), scale }
}

/** How many digits after the point MariaDB shows for a quotient, or for a product. */
export function shownScale(operator: '*' | '/', a: Decimal, b: Decimal): number {
  return Math.min(a.scale + (operator === '/' ? MARIADB.moreDigits : b.scale), MARIADB.scaleMax)
}

/** Halves away from zero. */
export function round({ units, scale }: Decimal, to: number): Decimal {
  if (scale <= to) return { units: units * 10n ** BigInt(to - scale), scale: to }
  return { units: roundedQuotient(units, 10n ** BigInt(scale - to)), scale: to }
}

function mariadbScale(a: number, b: number): number {
  const [wholeA, wholeB] = [inWords(a), inWords(b)]
  const more = Math.max(0, MARIADB.moreDigits - (wholeA - a + wholeB - b))
  return inWords(wholeA + wholeB + more)
}

function inWords(scale: number): number {
  return Math.ceil(scale / MARIADB.wordDigits) * MARIADB.wordDigits
}

/** The quotient without the digits after the point. */
export function divideWhole(a: Decimal, b: Decimal): Decimal {
  return { units: a.units / b.units, scale: 0 }
}

function unitsAt({ units, scale }: Decimal, more: number): bigint {
  return units * 10n ** BigInt(more - scale)
}

/** Halves away from zero. */
function roundedQuotient(a: bigint, b: bigint): bigint {
  const [n, d] = [a < 0n ? -a : a, b < 0n ? -b : b]
  const quotient = (2n * n + d) / (2n * d)
  return a < 0n === b < 0n ? quotient : -quotient
}

/** select_div_scale of src/backend/utils/adt/numeric.c: sixteen significant digits, by an estimate in groups of four. */
function postgresScale(a: Decimal, b: Decimal): number {
  const [first, second] = [leadingGroup(a), leadingGroup(b)]
  const weight = first.weight - second.weight - (first.digits <= second.digits ? 1 : 0)
  return Math.min(1000, Math.max(POSTGRES.digitsMin - weight * POSTGRES.groupDigits, a.scale, b.scale, 0))
}

/** The first group that is not 0, and its place: 0 for the one before the point. */
function leadingGroup({ units, scale }: Decimal): { readonly weight: number; readonly digits: number } {
  if (units === 0n) return { weight: 0, digits: 0 }
  const padding = (POSTGRES.groupDigits - (scale % POSTGRES.groupDigits)) % POSTGRES.groupDigits
  let rest = (units < 0n ? -units : units) * 10n ** BigInt(padding)
  let weight = -(scale + padding) / POSTGRES.groupDigits
  while (rest >= 10_000n) {
    rest /= 10_000n
    weight++
  }
  return { weight, digits: Number(rest) }
}
