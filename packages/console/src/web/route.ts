/** The page that is shown, from the part of the address after #, so that every view has a link. `#/data/shop/products/tea` */
import { type ReadonlySignal, signal } from '@preact/signals'

const parts = signal(partsOf(location.hash))
window.addEventListener('hashchange', () => {
  parts.value = partsOf(location.hash)
})

/** Decoded; the first is the page's name. */
export const route: ReadonlySignal<readonly string[]> = parts

/** The bucket that the address names after the page, if it names one. */
export function chosenBucket(): string | undefined {
  const [, namespace, name] = parts.value
  return namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`
}

export function linkTo(...names: readonly string[]): string {
  return `#/${names.map(encodeURIComponent).join('/')}`
}

export function goTo(...names: readonly string[]): void {
  location.hash = linkTo(...names)
}

function partsOf(hash: string): readonly string[] {
  return hash
    .replace(/^#?\/?/, '')
    .split('/')
    .filter(part => part !== '')
    .map(decoded)
}

/** The user may have typed the address. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
