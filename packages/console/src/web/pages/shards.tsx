/** Shards: how far each has applied the global writes, and queries over all of them. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field } from '../components/field.js'
import { Failure } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { Table } from '../components/table.js'
import { useLoaded } from '../components/use-loaded.js'
import { count, pretty } from '../components/words.js'
import { call } from '../server/call.js'

interface GlobalStatus {
  readonly position: number
  readonly isLeading: boolean
  readonly shards: readonly {
    readonly name: string
    readonly applied?: number
    readonly behind?: number
    readonly isWaiting?: boolean
    readonly obstacle?: string
    readonly error?: string
  }[]
}

interface SqlAnswer {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  readonly versions: Readonly<Record<string, number>>
}

const EVERY_MS = 2000

export function ShardsPage(): JSX.Element {
  const { value, error } = useLoaded(() => call<GlobalStatus>('/global'), 'global', EVERY_MS)
  return (
    <>
      <PageTitle title="Shards">Each result over the shards is from one global state.</PageTitle>
      <Failure of={error} />
      {value !== undefined && (
        <Panel title={`After ${count(value.position)} global writes`}>
          <Table label="Shards" columns={['Shard', 'Has applied', 'State']}>
            {value.shards.map(({ name, applied, behind = 0, isWaiting = false, obstacle, error }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="number">{applied ?? '–'}</td>
                <td>
                  <span
                    class={`badge ${error !== undefined || obstacle !== undefined ? 'error' : behind > 0 || isWaiting ? 'warning' : 'good'}`}
                  >
                    {error !== undefined
                      ? 'does not answer'
                      : isWaiting
                        ? 'has no rows yet'
                        : behind > 0
                          ? `${behind} behind`
                          : 'up to date'}
                  </span>{' '}
                  {obstacle ?? error}
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      <SqlPanel />
    </>
  )
}

function SqlPanel(): JSX.Element {
  const [text, setText] = useState('')
  const [answer, setAnswer] = useState<SqlAnswer>()
  const [plan, setPlan] = useState<unknown>()
  const [failure, setFailure] = useState<unknown>()
  const ask = async (explains: boolean) => {
    setFailure(undefined)
    const query = `/sql?${explains ? 'explain&' : ''}q=${encodeURIComponent(text)}`
    if (explains) setPlan(await call(query))
    else setAnswer(await call<SqlAnswer>(query))
  }
  const run = () => void ask(false).catch(setFailure)
  return (
    <Panel title="Query all shards">
      <Failure of={failure} />
      <Field
        label="SELECT"
        value={text}
        onInput={setText}
        lines={3}
        onEnter={run}
        placeholder="SELECT count(*) FROM orders"
      />
      <div class="row">
        <button type="button" class="main" onClick={run}>
          Run
        </button>
        <button type="button" onClick={() => void ask(true).catch(setFailure)}>
          Explain
        </button>
      </div>
      {plan !== undefined && <pre>{pretty(plan)}</pre>}
      {answer !== undefined && <Rows answer={answer} />}
    </Panel>
  )
}

function Rows({ answer: { columns, rows } }: { readonly answer: SqlAnswer }): JSX.Element {
  return (
    <Table label="Rows" columns={columns}>
      {rows.slice(0, 500).map((row, i) => (
        <tr key={i}>
          {row.map((value, column) => (
            <td key={columns[column]}>{value === null ? <span class="quiet">null</span> : String(value)}</td>
          ))}
        </tr>
      ))}
    </Table>
  )
}
