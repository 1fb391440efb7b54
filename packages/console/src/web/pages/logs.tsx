/** The last lines of the server's log. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Choice, Field } from '../components/field.js'
import { Failure } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { useRecent } from '../components/use-recent.js'
import { pretty, timeOfDay } from '../components/words.js'

interface LogLine {
  readonly id: string
  readonly timeMs: number
  readonly level: 'error' | 'info' | 'request'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

const SHOWN_MAX = 300

export function LogsPage(): JSX.Element {
  const { items, error } = useRecent<LogLine>('/logs')
  const [level, setLevel] = useState('all')
  const [text, setText] = useState('')
  const shown = items
    .filter(line => level === 'all' || line.level === level)
    .filter(line => `${line.message} ${JSON.stringify(line.fields)}`.toLowerCase().includes(text.toLowerCase()))
    .slice(-SHOWN_MAX)
    .toReversed()
  return (
    <>
      <PageTitle title="Logs">
        All workers, the newest first. To include requests, start the server with <code>--log-level request</code>.
      </PageTitle>
      <Failure of={error} />
      <Panel title="Lines">
        <div class="row">
          <Field label="Containing" value={text} onInput={setText} isFilter />
          <Choice label="Level" value={level} options={['all', 'error', 'info', 'request']} onChange={setLevel} />
        </div>
        <ul class="lines">
          {shown.map(({ id, timeMs, level, message, fields }) => (
            <li key={id} class={level}>
              <details>
                <summary>
                  <span class="number quiet">{timeOfDay(timeMs)}</span> <span class={`badge ${level}`}>{level}</span>{' '}
                  {message} <span class="quiet">{briefFields(fields)}</span>
                </summary>
                <pre>{pretty(fields)}</pre>
              </details>
            </li>
          ))}
        </ul>
      </Panel>
    </>
  )
}

function briefFields({ stack: _, ...fields }: LogLine['fields']): string {
  const text = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return text.join(' ').slice(0, 160)
}
