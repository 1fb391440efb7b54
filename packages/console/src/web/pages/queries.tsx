/** Queries: what they find, and how. */
import type { QueryExplanation } from '@freshet/client'
import { idOf, versionOf } from '@freshet/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { BucketChoice } from '../parts/bucket-choice.js'
import { Field } from '../parts/field.js'
import { Failure } from '../parts/notice.js'
import { PageTitle, Panel } from '../parts/panel.js'
import { Scroll } from '../parts/scroll.js'
import { brief, count, duration } from '../parts/words.js'
import { linkTo, route } from '../route.js'
import { database } from '../server/database.js'

interface Found {
  readonly items: readonly object[]
  readonly hasMore: boolean
  readonly tookMs: number
  readonly dependsOn: readonly string[] | undefined
}

export function QueriesPage(): JSX.Element {
  const [, namespace, name] = route.value
  const bucket = namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`
  return (
    <>
      <PageTitle title="Queries">What a filter finds, by which index, and what would change the result.</PageTitle>
      <BucketChoice page="queries" chosen={bucket} kind="object" />
      {bucket !== undefined && <QueryForm key={bucket} bucket={bucket} />}
    </>
  )
}

function QueryForm({ bucket }: { readonly bucket: string }): JSX.Element {
  const [where, setWhere] = useState('{}')
  const [sort, setSort] = useState('')
  const [limit, setLimit] = useState('20')
  const [failure, setFailure] = useState<unknown>()
  const [found, setFound] = useState<Found>()
  const [plan, setPlan] = useState<QueryExplanation>()
  const options = () => ({
    where: JSON.parse(where) as never,
    ...(sort.trim() === '' ? {} : { sort: sort.split(',').map(field => field.trim()) as never }),
    limit: Number(limit),
  })
  const run = async () => {
    setFailure(undefined)
    const asked = (await database()).bucket(bucket)
    const beganMs = performance.now()
    const { items, next, dependsOn } = await asked.query(options())
    setFound({ items, hasMore: next !== undefined, dependsOn, tookMs: performance.now() - beganMs })
  }
  const explain = async () => {
    setFailure(undefined)
    setPlan(await (await database()).bucket(bucket).explain(options()))
  }
  const submit = () => void run().catch(setFailure)
  return (
    <>
      <Panel title={`Query ${bucket}`}>
        <Failure of={failure} />
        <Field label="Where, as JSON" value={where} onInput={setWhere} lines={3} onEnter={submit} />
        <div class="row">
          <Field label="Sort by" value={sort} onInput={setSort} onEnter={submit} placeholder="price,-name" />
          <Field label="At most" value={limit} onInput={setLimit} onEnter={submit} />
          <button type="button" class="main" onClick={submit}>
            Run
          </button>
          <button type="button" onClick={() => void explain().catch(setFailure)}>
            Explain
          </button>
        </div>
      </Panel>
      {plan !== undefined && <Plan {...plan} />}
      {found !== undefined && <Result bucket={bucket} {...found} />}
    </>
  )
}

function Plan({ plan, examined, found, dependsOn }: QueryExplanation): JSX.Element {
  return (
    <Panel title="How it is found">
      <p>{plan.text}</p>
      <dl class="facts">
        <div>
          <dt>Index</dt>
          <dd>{plan.index ?? 'none: the whole bucket is read'}</dd>
        </div>
        <div>
          <dt>Looked at</dt>
          <dd>
            {count(examined)} objects for {count(found)} found
          </dd>
        </div>
        <div>
          <dt>Changes with</dt>
          <dd>{dependsOn === undefined ? 'any write to the bucket' : dependsOn.join(', ')}</dd>
        </div>
      </dl>
    </Panel>
  )
}

function Result({ bucket, items, hasMore, tookMs }: Found & { readonly bucket: string }): JSX.Element {
  return (
    <Panel title={`${items.length}${hasMore ? ' and more' : ''} found, in ${duration(tookMs)}`}>
      <Scroll label="Result">
        <table class="objects">
          <thead>
            <tr>
              <th scope="col">Id</th>
              <th scope="col">Version</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {items.map(item => (
              <tr key={idOf(item)}>
                <th scope="row">
                  <a href={linkTo('data', ...bucket.split('/'), idOf(item))}>{idOf(item)}</a>
                </th>
                <td class="number">{versionOf(item)}</td>
                <td>
                  <code>{brief(item)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  )
}
