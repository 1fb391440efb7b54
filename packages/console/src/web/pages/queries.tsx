/** Queries: their results, and how they are found. */
import type { QueryExplanation } from '@freshet/client'
import { idOf, versionOf } from '@freshet/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { BucketChoice } from '../components/bucket-choice.js'
import { type Fact, Facts } from '../components/facts.js'
import { Field } from '../components/field.js'
import { Failure } from '../components/notice.js'
import { type ListedObject, ObjectTable } from '../components/object-table.js'
import { PageTitle, Panel } from '../components/panel.js'
import { count, duration } from '../components/words.js'
import { chosenBucket } from '../route.js'
import { database } from '../server/database.js'

interface Found {
  readonly items: readonly object[]
  readonly hasMore: boolean
  readonly tookMs: number
  readonly dependsOn: readonly string[] | undefined
}

export function QueriesPage(): JSX.Element {
  const bucket = chosenBucket()
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
  const rows: readonly Fact[] = [
    ['Index', plan.index ?? 'none: the whole bucket is read'],
    ['Examined', `${count(examined)} objects for ${count(found)} found`],
    ['Changes with', dependsOn === undefined ? 'any write to the bucket' : dependsOn.join(', ')],
  ]
  return (
    <Panel title="How it is found">
      <p>{plan.text}</p>
      <Facts rows={rows} />
    </Panel>
  )
}

function Result({ bucket, items, hasMore, tookMs }: Found & { readonly bucket: string }): JSX.Element {
  return (
    <Panel title={`${items.length}${hasMore ? ' and more' : ''} found, in ${duration(tookMs)}`}>
      <ObjectTable label="Result" bucket={bucket} objects={items.map(toListed)} />
    </Panel>
  )
}

function toListed(item: object): ListedObject {
  return { id: idOf(item), version: versionOf(item), value: item }
}
