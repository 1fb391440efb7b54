/**
 * The values that a bucket of JSON returns unchanged. JSON.stringify silently changes all others: NaN to null, a Map to {}, a
 * Date to text; and a whole number beyond 2^53 was already rounded before.
 */

/** Throws a TypeError that names the place of a value that cannot be stored. */
export function checkStorable(value: unknown, place: string): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || isStorable(value)) return
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) checkStorable(value[i], `${place}[${i}]`)
  else if (isPlain(value)) for (const [name, each] of Object.entries(value)) checkStorable(each, `${place}.${name}`)
  else
    throw new TypeError(`${place} holds ${nameOf(value)}, which JSON cannot hold. Write it as text, or leave it out.`)
}

/** Whether the value is a number that JSON and JavaScript hold exactly. */
export function isStorable(value: unknown): value is number {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

/** Plain objects of any realm: the prototype of their prototype is null. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: object | null = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function nameOf(value: unknown): string {
  return typeof value === 'object' ? `a ${value?.constructor.name}` : String(value)
}
