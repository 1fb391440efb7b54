/** Facts with their labels: as lines, or as tiles with large figures. */
import type { JSX } from 'preact'

export type Fact = readonly [label: string, text: string]

export interface FactsProps {
  readonly rows: readonly Fact[]
  readonly isTiled?: boolean
}

export function Facts({ rows, isTiled = false }: FactsProps): JSX.Element {
  return (
    <dl class={isTiled ? 'tiles' : 'facts'}>
      {rows.map(([label, text]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd class={isTiled ? 'number' : undefined}>{text}</dd>
        </div>
      ))}
    </dl>
  )
}
