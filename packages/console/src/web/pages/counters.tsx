/** Counters: the largest ones, their sum, and additions. */
import type { TopCounter } from '@freshet/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { BucketChoice } from '../components/bucket-choice.js'
import { Field } from '../components/field.js'
import { NewBucket } from '../components/new-bucket.js'
import { Failure, Notice } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { Table } from '../components/table.js'
import { useLoaded } from '../components/use-loaded.js'
import { chosenBucket } from '../route.js'
import { database } from '../server/database.js'

const SHOWN_MAX = 100
const EVERY_MS = 3000

export function CountersPage(): JSX.Element {
  const bucket = chosenBucket()
  return (
    <>
      <PageTitle title="Counters">
        Numbers that many clients can add to at once. Each addition counts once, however often it is sent.
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
        <Table label="Counters" columns={['Counter', 'Value', { unseen: 'Change' }]}>
          {value.top.map(({ id, value }) => (
            <tr key={id}>
              <th scope="row">{id}</th>
              <td class="number">{value}</td>
              <td class="row">
                <button type="button" aria-label={`Add 1 to ${id}`} onClick={() => void add(id, 1).catch(setFailure)}>
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
        </Table>
      )}
      {value?.top.length === SHOWN_MAX && <p class="quiet">The {SHOWN_MAX} largest are shown.</p>}
    </Panel>
  )
}

function NewCounters(): JSX.Element {
  const create = async (name: string) => (await database()).counter(name).configure({})
  return <NewBucket title="New bucket of counters" placeholder="shop/views" page="counters" create={create} />
}

async function readTotals(bucket: string): Promise<Totals> {
  const counters = (await database()).counter(bucket)
  const [sum, top] = await Promise.all([counters.sum(), counters.top(SHOWN_MAX)])
  return { sum, top }
}
