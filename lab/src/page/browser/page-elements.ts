/** The page's elements by id, checked to be of the expected kind; and the functions that all panels share. */

export function find<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new TypeError(`index.html has no ${kind.name} with the id "${id}". Add it, or correct the id.`)
}

export function findInput(id: string): HTMLInputElement {
  return find(id, HTMLInputElement)
}

/** Leaves an element unchanged if it has the text already: screen readers announce a status whenever it is written. */
export function setText(id: string, text: string): void {
  const element = find(id, HTMLElement)
  if (element.textContent !== text) element.textContent = text
}

/** Many readers group digits with spaces. Anything else that is not a number becomes NaN, for the library to refuse. */
export function numberIn(input: HTMLInputElement): number {
  const digits = input.value.replaceAll(/[\s_]/g, '')
  return digits === '' ? Number.NaN : Number(digits)
}

/**
 * Runs `work`. If it throws, shows the message in the element `errorId`, marks the inputs as invalid, and returns undefined. The
 * messages of the library, like the page's own, are written for people.
 */
export function withErrorShown<Result>(
  errorId: string,
  inputs: readonly HTMLInputElement[],
  work: () => Result,
): Result | undefined {
  const error = find(errorId, HTMLElement)
  try {
    const result = work()
    error.hidden = true
    for (const input of inputs) input.ariaInvalid = null
    return result
  } catch (thrown) {
    error.textContent = (thrown as Error).message
    error.hidden = false
    for (const input of inputs) input.ariaInvalid = 'true'
    return undefined
  }
}
