/** Creates a bucket, and opens its page. */
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { goTo } from '../route.js'
import { loadBuckets } from '../server/server-facts.js'
import { Field } from './field.js'
import { Failure } from './notice.js'
import { Panel } from './panel.js'

export interface NewBucketProps {
  readonly title: string
  readonly placeholder: string
  /** The page that shows such buckets. */
  readonly page: string
  readonly create: (name: string) => Promise<unknown>
  /** Further choices. */
  readonly children?: ComponentChildren
}

export function NewBucket({ title, placeholder, page, create, children }: NewBucketProps): JSX.Element {
  const [name, setName] = useState('')
  const [failure, setFailure] = useState<unknown>()
  const open = async () => {
    setFailure(undefined)
    await create(name)
    await loadBuckets()
    goTo(page, ...name.split('/'))
  }
  const submit = () => void open().catch(setFailure)
  return (
    <Panel title={title}>
      <Failure of={failure} />
      <div class="row">
        <Field label="Name" value={name} onInput={setName} onEnter={submit} placeholder={placeholder} />
        {children}
        <button type="button" onClick={submit}>
          Create
        </button>
      </div>
    </Panel>
  )
}
