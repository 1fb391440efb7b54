/** Finds the page's elements by id, checks their kind, and makes new ones. */

export function find<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new TypeError(`index.html has no ${kind.name} with the id "${id}". Add it, or correct the id.`)
}

/** Does nothing if the element already has the text: screen readers read a status aloud whenever it is written. */
export function setText(element: Element | string, text: string): void {
  const target = typeof element === 'string' ? find(element, HTMLElement) : element
  if (target.textContent !== text) target.textContent = text
}

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

export function showFailure(error: unknown): void {
  const element = find('failure', HTMLElement)
  setText(element, error === undefined ? '' : `${(error as Error).message ?? error}`)
  element.hidden = error === undefined
}
