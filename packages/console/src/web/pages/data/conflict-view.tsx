/** Another client was faster. Shows for each field what it was, their change and my change, and lets the user choose. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Notice } from '../../components/notice.js'
import { Table } from '../../components/table.js'
import { brief } from '../../components/words.js'
import { compareFields, type FieldMerge, type Fields, mergeFields } from './merge.js'

export interface Conflict {
  readonly was: Fields
  readonly theirs: Fields
  readonly theirVersion: number
  readonly mine: Fields
}

export interface ConflictViewProps {
  readonly conflict: Conflict
  /** Called with the value to continue editing, based on their version. */
  readonly onResolve: (value: Fields) => void
}

const WORDS: Readonly<Record<FieldMerge['changedBy'], string>> = {
  neither: 'the same',
  them: 'they changed it',
  me: 'you changed it',
  both: 'both changed it',
}

export function ConflictView({ conflict, onResolve }: ConflictViewProps): JSX.Element {
  const { was, theirs, mine, theirVersion } = conflict
  const [keepsMine, setKeepsMine] = useState<ReadonlySet<string>>(new Set())
  const fields = compareFields(was, theirs, mine)
  const choose = (field: string, isMine: boolean) => {
    const others = [...keepsMine].filter(each => each !== field)
    setKeepsMine(new Set(isMine ? [...others, field] : others))
  }
  return (
    <div class="conflict">
      <Notice kind="warning">
        <b>Another client was faster.</b> Nothing was written: the object now has version {theirVersion}. Choose which
        changes to keep, check the result, and save again.
      </Notice>
      <Table
        label="What changed"
        columns={['Field', 'You began with', 'Theirs now', 'Yours', { unseen: 'What happened' }]}
      >
        {fields.map(each => (
          <FieldRow key={each.field} {...each} isMine={keepsMine.has(each.field)} onChoose={choose} />
        ))}
      </Table>
      <div class="row">
        <button type="button" class="main" onClick={() => onResolve(mergeFields(fields, keepsMine))}>
          Merge
        </button>
        <button type="button" onClick={() => onResolve(theirs)}>
          Take theirs
        </button>
        <button type="button" onClick={() => onResolve(mine)}>
          Keep mine
        </button>
      </div>
    </div>
  )
}

interface FieldRowProps extends FieldMerge {
  readonly isMine: boolean
  readonly onChoose: (field: string, isMine: boolean) => void
}

function FieldRow({ field, was, theirs, mine, changedBy, isMine, onChoose }: FieldRowProps): JSX.Element {
  const option = (label: string, value: boolean) => (
    <label>
      <input type="radio" name={`choice-${field}`} checked={isMine === value} onChange={() => onChoose(field, value)} />{' '}
      {label}
    </label>
  )
  return (
    <tr class={`changed-by-${changedBy}`}>
      <th scope="row">{field}</th>
      <td>{shown(was)}</td>
      <td>{shown(theirs)}</td>
      <td>{shown(mine)}</td>
      <td>
        {WORDS[changedBy]}
        {changedBy === 'both' && (
          <fieldset class="row">
            <legend class="unseen">Which {field} to keep</legend>
            {option('theirs', false)}
            {option('mine', true)}
          </fieldset>
        )}
      </td>
    </tr>
  )
}

function shown(value: unknown): JSX.Element {
  return value === undefined ? <span class="quiet">absent</span> : <code>{brief(value, 60)}</code>
}
