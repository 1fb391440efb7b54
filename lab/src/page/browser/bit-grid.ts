/** Draws the bits of a small filter as a grid of squares, with the bits of one key outlined. */
import type { BloomView } from '@freshet/bloom'
import { formatCount } from './format.js'
import { isSet, ownBits } from './trial.js'

export function drawBits(container: HTMLElement, bloom: BloomView, key: string): void {
  const own = new Set(ownBits(bloom, key))
  container.ariaLabel = describe(bloom, own)
  container.style.setProperty('--columns', String(columnsFor(bloom.bits)))
  container.replaceChildren(...Array.from({ length: bloom.bits }, (_, i) => square(i, isSet(bloom, i), own.has(i))))
}

function columnsFor(bits: number): number {
  if (bits <= 256) return 16
  return bits <= 1024 ? 32 : 64
}

function square(index: number, set: boolean, own: boolean): HTMLElement {
  const element = document.createElement('i')
  element.className = `bit${set ? ' set' : ''}${own ? ' own' : ''}`
  element.title = `bit ${index}`
  return element
}

function describe(bloom: BloomView, own: ReadonlySet<number>): string {
  const list = [...own].map(index => `${index} ${isSet(bloom, index) ? 'set' : 'not set'}`).join(', ')
  return `The ${formatCount(bloom.bits)} bits of the filter. The bits of this key: ${list}.`
}
