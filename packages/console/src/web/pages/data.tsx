/** All that is stored: buckets, their objects, one object. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { BucketChoice } from '../parts/bucket-choice.js'
import { Choice, Field } from '../parts/field.js'
import { Failure } from '../parts/notice.js'
import { PageTitle, Panel } from '../parts/panel.js'
import { goTo, linkTo, route } from '../route.js'
import { call } from '../server/call.js'
import { database } from '../server/database.js'
import { knownBuckets, loadBuckets, type NamedBucket } from '../server/server-facts.js'
import { BytesEditor } from './data/bytes-editor.js'
import { ObjectEditor } from './data/object-editor.js'
import { ObjectList } from './data/object-list.js'

export function DataPage(): JSX.Element {
  const [, namespace, name, id] = route.value
  const chosen = namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`
  const bucket = knownBuckets.value?.find(each => each.name === chosen)
  return (
    <>
      <PageTitle title="Data">Read by the client itself, so it is never stale, also through caches.</PageTitle>
      <BucketChoice page="data" chosen={chosen} />
      {bucket !== undefined && bucket.kind !== 'counter' && id !== undefined && (
        <Value key={`${bucket.name}/${id}`} bucket={bucket} id={id} />
      )}
      {bucket !== undefined && bucket.kind !== 'counter' && id === undefined && (
        <ObjectList key={bucket.name} bucket={bucket} />
      )}
      {bucket?.kind === 'counter' && (
        <p>
          Counters have <a href={linkTo('counters', ...bucket.name.split('/'))}>a page of their own</a>.
        </p>
      )}
      {chosen === undefined && <NewBucket />}
    </>
  )
}

function Value({ bucket: { name, kind }, id }: { readonly bucket: NamedBucket; readonly id: string }): JSX.Element {
  return kind === 'kv' ? <BytesEditor bucket={name} id={id} /> : <ObjectEditor bucket={name} id={id} />
}

function NewBucket(): JSX.Element {
  const [name, setName] = useState('')
  const [kind, setKind] = useState('object')
  const [failure, setFailure] = useState<unknown>()
  const create = async () => {
    setFailure(undefined)
    // The client refuses names that cannot be, and says which can; the server would not know that one was meant.
    const { path } = (await database()).bucket(name)
    await call(path, { method: 'PUT', body: { kind }, headers: { 'if-none-match': '*' } })
    await loadBuckets()
    goTo('data', ...name.split('/'))
  }
  const submit = () => void create().catch(setFailure)
  return (
    <Panel title="New bucket">
      <Failure of={failure} />
      <div class="row">
        <Field label="Name" value={name} onInput={setName} onEnter={submit} placeholder="shop/products" />
        <Choice label="Kind" value={kind} options={['object', 'kv', 'counter']} onChange={setKind} />
        <button type="button" onClick={submit}>
          Create
        </button>
      </div>
    </Panel>
  )
}
