/** A row for a thing that may be healthy or not: its name, its state, and a few more words. */
import type { JSX } from 'preact'

export interface StateRowProps {
  readonly name: string
  readonly badge?: 'good' | 'warning' | 'error' | undefined
  /** Undefined shows no state. */
  readonly state?: string | undefined
  readonly words: readonly string[]
  /** For example what went wrong. */
  readonly detail?: string | undefined
}

export function StateRow({ name, badge = 'good', state, words, detail }: StateRowProps): JSX.Element {
  return (
    <li class="task">
      <div class="row">
        <b>{name}</b> {state !== undefined && <span class={`badge ${badge}`}>{state}</span>}{' '}
        <span class="quiet number">{words.join(' · ')}</span>
      </div>
      {detail !== undefined && <div class="quiet">{detail}</div>}
    </li>
  )
}
