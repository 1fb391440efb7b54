/** The objects of a bucket: by the prefix of their ids, by a filter, page by page. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field } from '../../components/field.js'
import { Failure } from '../../components/notice.js'
import { ObjectTable } from '../../components/object-table.js'
import { Panel } from '../../components/panel.js'
import { useLoaded } from '../../components/use-loaded.js'
import { goTo } from '../../route.js'
import type { NamedBucket } from '../../server/server-facts.js'
import { readPage } from './objects.js'

export function ObjectList({ bucket }: { readonly bucket: NamedBucket }): JSX.Element {
  const { name, kind } = bucket
  const [namespace = '', shortName = ''] = name.split('/')
  const [prefix, setPrefix] = useState('')
  const [where, setWhere] = useState('')
  const [asked, setAsked] = useState({ prefix: '', where: '' })
  const [after, setAfter] = useState<readonly string[]>([])
  const about = JSON.stringify([name, asked, after])
  const { value, error, reload } = useLoaded(() => readPage(name, { kind, ...asked, after: after.at(-1) }), about)
  const ask = () => {
    setAsked({ prefix, where })
    setAfter([])
    reload()
  }
  return (
    <Panel title={name} actions={<NewObject namespace={namespace} bucket={shortName} />}>
      <div class="row">
        <Field label="Ids that begin with" value={prefix} onInput={setPrefix} onEnter={ask} isFilter />
        {kind === 'object' && (
          <Field
            label="Filter, as JSON"
            value={where}
            onInput={setWhere}
            onEnter={ask}
            placeholder={'{"price":{"$gt":5}}'}
          />
        )}
        <button type="button" onClick={ask}>
          Show
        </button>
      </div>
      <Failure of={error} />
      {value !== undefined && value.items.length === 0 && <p class="quiet">No objects found.</p>}
      {value !== undefined && value.items.length > 0 && (
        <ObjectTable label="Objects" bucket={name} objects={value.items} />
      )}
      <div class="row">
        {after.length > 0 && (
          <button type="button" onClick={() => setAfter(after.slice(0, -1))}>
            Previous
          </button>
        )}
        {value?.next !== undefined && (
          <button type="button" onClick={() => setAfter([...after, value.next!])}>
            More
          </button>
        )}
      </div>
    </Panel>
  )
}

function NewObject({ namespace, bucket }: { readonly namespace: string; readonly bucket: string }): JSX.Element {
  const [id, setId] = useState('')
  const [isMissing, setMissing] = useState(false)
  const open = () => (id === '' ? setMissing(true) : goTo('data', namespace, bucket, id))
  return (
    <>
      {isMissing && id === '' && <span role="alert">Enter an id for the new object.</span>}
      <Field label="New id" value={id} onInput={setId} onEnter={open} />
      <button type="button" onClick={open}>
        New object
      </button>
    </>
  )
}
