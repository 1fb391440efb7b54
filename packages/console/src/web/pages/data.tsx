/** All that is stored: buckets, their objects, one object. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { BucketChoice } from '../parts/bucket-choice.js'
import { Choice, Field } from '../parts/field.js'
import { Failure } from '../parts/notice.js'
import { PageTitle, Panel } from '../parts/panel.js'
import { goTo, route } from '../route.js'
import { call } from '../server/call.js'
import { knownBuckets, loadBuckets } from '../server/server-facts.js'
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
      {chosen !== undefined && id !== undefined && <ObjectEditor key={`${chosen}/${id}`} bucket={chosen} id={id} />}
      {bucket !== undefined && id === undefined && <ObjectList key={bucket.name} bucket={bucket} />}
      {chosen === undefined && <NewBucket />}
    </>
  )
}

function NewBucket(): JSX.Element {
  const [name, setName] = useState('')
  const [kind, setKind] = useState('object')
  const [failure, setFailure] = useState<unknown>()
  const create = async () => {
    setFailure(undefined)
    const path = `/db/${name.split('/').map(encodeURIComponent).join('/')}`
    await call(path, { method: 'PUT', body: { kind }, headers: { 'if-none-match': '*' } })
    await loadBuckets()
    goTo('data', ...name.split('/'))
  }
  return (
    <Panel title="New bucket">
      <Failure of={failure} />
      <div class="row">
        <Field label="Name" value={name} onInput={setName} placeholder="shop/products" />
        <Choice label="Of" value={kind} options={['object', 'kv', 'counter']} onChange={setKind} />
        <button type="button" onClick={() => void create().catch(setFailure)}>
          Create
        </button>
      </div>
    </Panel>
  )
}
