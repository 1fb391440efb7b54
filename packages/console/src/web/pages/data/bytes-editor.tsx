/** One value of a bucket of bytes: shown and edited if it is text, otherwise only its size is shown. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field } from '../../components/field.js'
import { Failure, Notice } from '../../components/notice.js'
import { Panel } from '../../components/panel.js'
import { useLoaded } from '../../components/use-loaded.js'
import { count } from '../../components/words.js'
import { goTo } from '../../route.js'
import { EditorActions } from './editor-actions.js'
import { History } from './history.js'
import { deleteObject, hasCode, isText, readBytes, writeText } from './objects.js'

export function BytesEditor({ bucket, id }: { readonly bucket: string; readonly id: string }): JSX.Element {
  const { value, error, reload } = useLoaded(() => readBytes(bucket, id), `${bucket}/${id}`)
  const [edited, setEdited] = useState<string>()
  const [contentType, setContentType] = useState<string>()
  const [failure, setFailure] = useState<unknown>()
  const [note, setNote] = useState('')
  const isEditable = value !== undefined && isText(value.contentType)
  const text = edited ?? (value === undefined ? '' : new TextDecoder().decode(value.bytes))
  const act = (work: () => Promise<unknown>) => {
    setNote('')
    setFailure(undefined)
    work().catch(error => setFailure(hasCode(error, 'VERSION_CONFLICT') ? TOO_LATE : error))
  }
  const save = () =>
    act(async () => {
      await writeText(bucket, id, text, { ...value!, contentType: contentType ?? value!.contentType })
      setEdited(undefined)
      setNote('Saved.')
      reload()
    })
  const remove = () =>
    act(async () => {
      if (!confirm(`Delete ${bucket}/${id}?`)) return
      await deleteObject(bucket, id, value!.version)
      goTo('data', ...bucket.split('/'))
    })
  return (
    <Panel
      title={id}
      actions={
        <EditorActions
          bucket={bucket}
          onSave={isEditable ? save : undefined}
          onDelete={value !== undefined && value.version > 0 ? remove : undefined}
        />
      }
    >
      <Failure of={failure ?? error} />
      {note !== '' && <Notice kind="good">{note}</Notice>}
      {value !== undefined && (
        <>
          <p class="quiet">
            {value.version === 0
              ? 'It does not exist yet.'
              : `Version ${value.version}, ${count(value.bytes.length)} bytes`}
          </p>
          <Field label="Content type" value={contentType ?? value.contentType} onInput={setContentType} />
          {isEditable && <Field label="Value, as text" value={text} onInput={setEdited} lines={14} onEnter={save} />}
          <h3>History</h3>
          <History name={`${bucket}/${id}`} version={value.version} />
        </>
      )}
    </Panel>
  )
}

const TOO_LATE = new Error(
  'Another client was faster, and nothing was written. Copy what you need, close the value and open it again.',
)
