/**
 * Whole numbers in few characters, which need no escaping in JSON, events and URLs: base64url digits, six bits each.
 *
 *     of fixed width     the most significant digit first
 *     of any size        five bits in each digit, the least significant first; the sixth says that another follows
 */
import { sketchInvalid } from './sketch-invalid.js'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** `value` must be a safe integer of at most 6 * `width` bits. */
export function formatFixed(value: number, width: number): string {
  let text = ''
  for (let rest = value; text.length < width; rest = Math.floor(rest / 64)) text = DIGITS[rest % 64]! + text
  return text
}

/** `value` must be a safe integer, not negative. */
export function formatNumber(value: number): string {
  let text = ''
  let rest = value
  for (; rest >= 32; rest = Math.floor(rest / 32)) text += DIGITS[32 + (rest % 32)]!
  return text + DIGITS[rest]!
}

/** Reads numbers one after the other. Throws ANSWER_INVALID where there is no number. */
export class DigitReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** The text that has not been read yet. */
  get rest(): string {
    return this.#text.slice(this.#at)
  }

  fixed(width: number): number {
    let value = 0
    for (let i = 0; i < width; i++) value = value * 64 + this.#digit()
    return value
  }

  number(): number {
    let value = 0
    for (let weight = 1; ; weight *= 32) {
      const digit = this.#digit()
      value += (digit % 32) * weight
      if (!Number.isSafeInteger(value)) throw sketchInvalid('one of its numbers is too large')
      if (digit < 32) return value
    }
  }

  #digit(): number {
    const character = this.#text[this.#at++]
    if (character === undefined) throw sketchInvalid('it is cut short')
    const value = DIGITS.indexOf(character)
    if (value < 0) throw sketchInvalid(`${JSON.stringify(character)} in it is not a digit`)
    return value
  }
}
