/** One of several things that may be well or not: its name, how it is, a few words more. */
import type { JSX } from 'preact'

export interface StateRowProps {
  readonly name: string
  readonly badge?: 'good' | 'warning' | 'error' | undefined
  /** None: there is nothing to say. */
  readonly state?: string | undefined
  readonly words: readonly string[]
  /** What went wrong, say. */
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
