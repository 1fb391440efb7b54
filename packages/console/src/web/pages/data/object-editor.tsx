/** One object: shown, edited, and written if it has not been changed in the meantime. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Field } from '../../components/field.js'
import { Failure, Notice } from '../../components/notice.js'
import { Panel } from '../../components/panel.js'
import { pretty } from '../../components/words.js'
import { goTo } from '../../route.js'
import { type Conflict, ConflictView } from './conflict-view.js'
import { EditorActions } from './editor-actions.js'
import { parseExact } from './exact-json.js'
import { History } from './history.js'
import type { Fields } from './merge.js'
import { deleteObject, hasCode, readObject, type ShownObject, writeObject } from './objects.js'

export interface ObjectEditorProps {
  readonly bucket: string
  readonly id: string
}

/** How often to check whether another client has changed it. */
const LOOK_EVERY_MS = 4000

export function ObjectEditor({ bucket, id }: ObjectEditorProps): JSX.Element {
  const editor = useEditor(bucket, id)
  const { base, text, failure, conflict, note } = editor
  const actions = (
    <EditorActions
      bucket={bucket}
      onSave={editor.save}
      isSaveDisabled={conflict !== undefined}
      onDelete={base?.value === undefined ? undefined : editor.remove}
    />
  )
  return (
    <Panel title={id} actions={actions}>
      <Failure of={failure} />
      {note !== '' && <Notice kind="good">{note}</Notice>}
      {editor.newer !== undefined && conflict === undefined && (
        <Notice kind="warning">
          {editor.newer === 0
            ? 'Another client has deleted it.'
            : `Another client has written it: version ${editor.newer}.`}{' '}
          {editor.newer > 0 && (
            <button type="button" onClick={editor.load}>
              Show it
            </button>
          )}
        </Notice>
      )}
      {conflict !== undefined && <ConflictView conflict={conflict} onResolve={editor.resolve} />}
      {base !== undefined && (
        <>
          <p class="quiet">{base.version === 0 ? 'It does not exist yet.' : `Version ${base.version}`}</p>
          <Field label="Value, as JSON" value={text} onInput={editor.setText} lines={14} onEnter={editor.save} />
          <h3>History</h3>
          <History name={`${bucket}/${id}`} version={base.version} />
        </>
      )}
    </Panel>
  )
}

interface Editor {
  readonly base: ShownObject | undefined
  readonly text: string
  readonly setText: (text: string) => void
  readonly failure: unknown
  readonly note: string
  readonly conflict: Conflict | undefined
  /** A version that another client has written since this was loaded; 0: it was deleted. */
  readonly newer: number | undefined
  readonly load: () => void
  readonly save: () => void
  readonly remove: () => void
  readonly resolve: (value: Fields) => void
}

function useEditor(bucket: string, id: string): Editor {
  const [base, setBase] = useState<ShownObject>()
  const [text, setText] = useState('')
  const [failure, setFailure] = useState<unknown>()
  const [note, setNote] = useState('')
  const [conflict, setConflict] = useState<Conflict>()
  const [newer, setNewer] = useState<number>()
  const begin = (object: ShownObject, value: unknown = object.value ?? {}) => {
    setBase(object)
    setText(pretty(value))
    setConflict(undefined)
    setNewer(undefined)
    setFailure(undefined)
  }
  const load = () => void readObject(bucket, id).then(begin, setFailure)
  useEffect(load, [bucket, id])
  useEffect(() => watch(bucket, id, base?.version, setNewer), [bucket, id, base])
  const meet = async (mine: Fields) => {
    const theirs = await readObject(bucket, id)
    setBase(theirs)
    setNewer(undefined)
    if (theirs.value === undefined) throw new Error('Another client has deleted it. Save to create it again.')
    setConflict({ was: base?.value ?? {}, theirs: theirs.value, theirVersion: theirs.version, mine })
  }
  const save = async () => {
    setNote('')
    setFailure(undefined)
    const mine = readFields(text)
    try {
      const version = await writeObject(bucket, id, mine, base?.version ?? 0)
      begin({ version, value: mine })
      setNote(`Saved as version ${version}.`)
    } catch (error) {
      if (!hasCode(error, 'VERSION_CONFLICT')) throw error
      await meet(mine)
    }
  }
  const remove = async () => {
    if (!confirm(`Delete ${bucket}/${id}?`)) return
    await deleteObject(bucket, id, base?.version ?? 0)
    goTo('data', ...bucket.split('/'))
  }
  return {
    ...{ base, text, setText, failure, note, conflict, newer, load },
    save: () => void save().catch(setFailure),
    remove: () => void remove().catch(setFailure),
    resolve: value => begin(base!, value),
  }
}

/** Throws an error that says what is wrong. */
function readFields(text: string): Fields {
  let value: unknown
  try {
    value = parseExact(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Error(`This is not JSON: ${(error as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new Error('A bucket of objects takes only JSON objects: {...}.')
}

function watch(
  bucket: string,
  id: string,
  version: number | undefined,
  onNewer: (version: number) => void,
): () => void {
  if (version === undefined) return () => undefined
  let isOver = false
  const timer = setInterval(async () => {
    if (document.hidden) return
    try {
      const found = await readObject(bucket, id)
      if (!isOver && found.version !== version) onNewer(found.version)
    } catch {
      // The next check, or the next action, reports what is wrong.
    }
  }, LOOK_EVERY_MS)
  return () => {
    isOver = true
    clearInterval(timer)
  }
}
