/** A table that may be wider than the screen: it can be scrolled, also with the keyboard. */
import type { ComponentChildren, JSX } from 'preact'

/** The title of a column, which may be for screen readers only. */
export type Column = string | { readonly unseen: string }

export interface TableProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly class?: string
  /** The rows. */
  readonly children: ComponentChildren
}

export function Table({ label, columns, class: kind, children }: TableProps): JSX.Element {
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      <table class={kind}>
        <thead>
          <tr>
            {columns.map((column, i) => (
              <th key={i} scope="col">
                {typeof column === 'string' ? column : <span class="unseen">{column.unseen}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}
