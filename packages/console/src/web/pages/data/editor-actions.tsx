/** The actions for the value that is shown: save, delete, close. */
import type { JSX } from 'preact'
import { linkTo } from '../../route.js'

export interface EditorActionsProps {
  readonly bucket: string
  /** Undefined if the value cannot be edited. */
  readonly onSave: (() => void) | undefined
  readonly isSaveDisabled?: boolean
  /** Undefined if the value does not exist yet. */
  readonly onDelete: (() => void) | undefined
}

export function EditorActions({ bucket, onSave, isSaveDisabled, onDelete }: EditorActionsProps): JSX.Element {
  return (
    <>
      {onSave !== undefined && (
        <button type="button" class="main" onClick={onSave} disabled={isSaveDisabled}>
          Save
        </button>
      )}
      {onDelete !== undefined && (
        <button type="button" class="danger" onClick={onDelete}>
          Delete
        </button>
      )}
      <a class="button" href={linkTo('data', ...bucket.split('/'))}>
        Close
      </a>
    </>
  )
}
