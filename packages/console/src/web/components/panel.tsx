/** A part of a page, with its heading. */
import type { ComponentChildren, JSX } from 'preact'

export interface PanelProps {
  readonly title: string
  /** Shown beside the heading. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Panel({ title, actions, children }: PanelProps): JSX.Element {
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {actions !== undefined && <div class="row">{actions}</div>}
      </div>
      {children}
    </section>
  )
}

/** The heading of a page. */
export function PageTitle({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <header class="page-title">
      <h1>{title}</h1>
      {children !== undefined && <p class="quiet">{children}</p>}
    </header>
  )
}
