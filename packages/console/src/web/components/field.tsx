/** Inputs, each with its label. */
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'

export interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onInput: (text: string) => void
  /** An example. */
  readonly placeholder?: string
  /** The number of lines; one unless given. */
  readonly lines?: number
  readonly onEnter?: () => void
  /** The key `/` moves the focus here. */
  readonly isFilter?: boolean
}

export function Field({
  label,
  value,
  onInput,
  placeholder,
  lines = 1,
  onEnter,
  isFilter = false,
}: FieldProps): JSX.Element {
  const id = useId()
  const shared = {
    id,
    value,
    placeholder,
    spellcheck: false,
    autocomplete: 'off',
    'data-filter': isFilter || undefined,
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const isEnter = event.key === 'Enter' && (lines === 1 || event.ctrlKey || event.metaKey)
    if (!isEnter || onEnter === undefined) return
    event.preventDefault()
    onEnter()
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {lines === 1 ? (
        <input {...shared} onKeyDown={onKeyDown} onInput={event => onInput(event.currentTarget.value)} />
      ) : (
        <textarea
          {...shared}
          rows={lines}
          onKeyDown={onKeyDown}
          onInput={event => onInput(event.currentTarget.value)}
        />
      )}
    </div>
  )
}

export interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly options: readonly string[]
  readonly onChange: (value: string) => void
}

export function Choice({ label, value, options, onChange }: ChoiceProps): JSX.Element {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={event => onChange(event.currentTarget.value)}>
        {options.map(option => (
          <option key={option} value={option} selected={option === value}>
            {option}
          </option>
        ))}
      </select>
    </div>
  )
}
