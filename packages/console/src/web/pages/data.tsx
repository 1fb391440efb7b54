/** The stored data: buckets, their objects, one object. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { BucketChoice } from '../components/bucket-choice.js'
import { Choice } from '../components/field.js'
import { NewBucket } from '../components/new-bucket.js'
import { PageTitle } from '../components/panel.js'
import { chosenBucket, linkTo, route } from '../route.js'
import { call } from '../server/call.js'
import { database } from '../server/database.js'
import { knownBuckets, type NamedBucket } from '../server/server-facts.js'
import { BytesEditor } from './data/bytes-editor.js'
import { ObjectEditor } from './data/object-editor.js'
import { ObjectList } from './data/object-list.js'

export function DataPage(): JSX.Element {
  const [, , , id] = route.value
  const chosen = chosenBucket()
  const bucket = knownBuckets.value?.find(each => each.name === chosen)
  return (
    <>
      <PageTitle title="Data">Read with the Freshet client, so it is never stale, even through caches.</PageTitle>
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
      {chosen === undefined && <NewBucketOfKind />}
    </>
  )
}

function Value({ bucket: { name, kind }, id }: { readonly bucket: NamedBucket; readonly id: string }): JSX.Element {
  return kind === 'kv' ? <BytesEditor bucket={name} id={id} /> : <ObjectEditor bucket={name} id={id} />
}

function NewBucketOfKind(): JSX.Element {
  const [kind, setKind] = useState('object')
  const create = async (name: string) => {
    // The client refuses invalid names, and says which are valid; the server would not know that a bucket was meant.
    const { path } = (await database()).bucket(name)
    await call(path, { method: 'PUT', body: { kind }, headers: { 'if-none-match': '*' } })
  }
  return (
    <NewBucket title="New bucket" placeholder="shop/products" page="data" create={create}>
      <Choice label="Kind" value={kind} options={['object', 'kv', 'counter']} onChange={setKind} />
    </NewBucket>
  )
}
