/** How far some work has got. */
import type { JSX } from 'preact'
import { count } from './words.js'

export interface ProgressProps {
  readonly label: string
  readonly done: number
  /** Undefined if the total is not known. */
  readonly total: number | undefined
}

export function Progress({ label, done, total }: ProgressProps): JSX.Element {
  const isKnown = total !== undefined && total > 0
  const text = isKnown ? `${count(done)} of ${count(total)}` : count(done)
  return (
    <div class="progress">
      <progress aria-label={label} {...(isKnown ? { value: Math.min(done, total), max: total } : {})} />
      <span class="quiet number">{text}</span>
    </div>
  )
}
