/** Counters: the largest, their sum, and adding to them. */
import type { TopCounter } from '@freshet/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { BucketChoice } from '../parts/bucket-choice.js'
import { Field } from '../parts/field.js'
import { Failure, Notice } from '../parts/notice.js'
import { PageTitle, Panel } from '../parts/panel.js'
import { Scroll } from '../parts/scroll.js'
import { useLoaded } from '../parts/use-loaded.js'
import { goTo, route } from '../route.js'
import { database } from '../server/database.js'
import { loadBuckets } from '../server/server-facts.js'

const SHOWN_MAX = 100
const EVERY_MS = 3000

export function CountersPage(): JSX.Element {
  const [, namespace, name] = route.value
  const bucket = namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`
  return (
    <>
      <PageTitle title="Counters">
        Numbers that many add to at once. Each addition counts once, however often it is sent.
      </PageTitle>
      <BucketChoice page="counters" chosen={bucket} kind="counter" />
      {bucket === undefined ? <NewCounters /> : <CounterList key={bucket} bucket={bucket} />}
    </>
  )
}

interface Totals {
  readonly sum: number
  readonly top: readonly TopCounter[]
}

function CounterList({ bucket }: { readonly bucket: string }): JSX.Element {
  const { value, error, reload } = useLoaded(() => readTotals(bucket), bucket, EVERY_MS)
  const [id, setId] = useState('')
  const [by, setBy] = useState('1')
  const [failure, setFailure] = useState<unknown>()
  const [note, setNote] = useState('')
  const add = async (counter: string, amount: number) => {
    setFailure(undefined)
    setNote('')
    const answer = await (await database()).counter(bucket).add(counter, amount)
    setNote(`${counter} is ${answer.value}.`)
    reload()
  }
  const submit = () => void add(id, Number(by)).catch(setFailure)
  return (
    <Panel title={bucket}>
      <Failure of={failure ?? error} />
      {note !== '' && <Notice kind="good">{note}</Notice>}
      <div class="row">
        <Field label="Counter" value={id} onInput={setId} onEnter={submit} placeholder="tea" />
        <Field label="Add" value={by} onInput={setBy} onEnter={submit} />
        <button type="button" class="main" onClick={submit}>
          Add
        </button>
      </div>
      <p>
        All together: <b class="number">{value === undefined ? '–' : value.sum}</b>
      </p>
      {value !== undefined && value.top.length > 0 && (
        <Scroll label="Counters">
          <table>
            <thead>
              <tr>
                <th scope="col">Counter</th>
                <th scope="col">Value</th>
                <th scope="col">
                  <span class="unseen">Change</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.top.map(({ id, value }) => (
                <tr key={id}>
                  <th scope="row">{id}</th>
                  <td class="number">{value}</td>
                  <td class="row">
                    <button
                      type="button"
                      aria-label={`Add 1 to ${id}`}
                      onClick={() => void add(id, 1).catch(setFailure)}
                    >
                      +1
                    </button>
                    <button
                      type="button"
                      aria-label={`Take 1 from ${id}`}
                      onClick={() => void add(id, -1).catch(setFailure)}
                    >
                      −1
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {value?.top.length === SHOWN_MAX && <p class="quiet">The {SHOWN_MAX} largest are shown.</p>}
    </Panel>
  )
}

function NewCounters(): JSX.Element {
  const [name, setName] = useState('')
  const [failure, setFailure] = useState<unknown>()
  const create = async () => {
    setFailure(undefined)
    await (await database()).counter(name).configure({})
    await loadBuckets()
    goTo('counters', ...name.split('/'))
  }
  const submit = () => void create().catch(setFailure)
  return (
    <Panel title="New bucket of counters">
      <Failure of={failure} />
      <div class="row">
        <Field label="Name" value={name} onInput={setName} onEnter={submit} placeholder="shop/views" />
        <button type="button" onClick={submit}>
          Create
        </button>
      </div>
    </Panel>
  )
}

async function readTotals(bucket: string): Promise<Totals> {
  const counters = (await database()).counter(bucket)
  const [sum, top] = await Promise.all([counters.sum(), counters.top(SHOWN_MAX)])
  return { sum, top }
}
