/** What may be wider than the screen. It can be scrolled with the keyboard, too. */
import type { ComponentChildren, JSX } from 'preact'

export function Scroll({
  label,
  children,
}: {
  readonly label: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      {children}
    </section>
  )
}
