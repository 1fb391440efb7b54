/** Code against the live server, with the client that programs use. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Choice, Field } from '../components/field.js'
import { PageTitle, Panel } from '../components/panel.js'
import type { FromCode, ToCode } from '../run-code-messages.js'
import { token } from '../server/token.js'
import { EXAMPLES } from './javascript/examples.js'

type Printed = FromCode & { readonly number: number }

const TITLES = EXAMPLES.map(({ title }) => title)

export function JavascriptPage(): JSX.Element {
  const [title, setTitle] = useState(TITLES[0]!)
  const [code, setCode] = useState(EXAMPLES[0]!.code)
  const { lines, isRunning, run, stop } = useWorker()
  const choose = (next: string) => {
    setTitle(next)
    setCode(EXAMPLES.find(example => example.title === next)?.code ?? '')
  }
  return (
    <>
      <PageTitle title="JavaScript">
        Code runs in your browser, on the data of this server. It can use <code>db</code>, <code>connect</code>,{' '}
        <code>within</code>, <code>versionOf</code> and <code>print</code>; <code>await</code> works anywhere.
      </PageTitle>
      <Panel
        title="Code"
        actions={
          <>
            <button type="button" class="main" disabled={isRunning} onClick={() => run(code)}>
              Run
            </button>
            <button type="button" disabled={!isRunning} onClick={stop}>
              Stop
            </button>
          </>
        }
      >
        <Choice label="Example" value={title} options={TITLES} onChange={choose} />
        <Field label="Code; Ctrl+Enter runs it" value={code} onInput={setCode} lines={16} onEnter={() => run(code)} />
      </Panel>
      <Panel title="Output">
        <div class="output" role="log" aria-label="Output" tabindex={0}>
          {lines.map(({ number, kind, text }) => (
            <pre key={number} class={kind}>
              {text}
            </pre>
          ))}
          {isRunning && <p class="quiet">Running…</p>}
        </div>
      </Panel>
    </>
  )
}

interface WorkerState {
  readonly lines: readonly Printed[]
  readonly isRunning: boolean
  readonly run: (code: string) => void
  readonly stop: () => void
}

const LINES_MAX = 500

/** Each run has a worker of its own: it leaves nothing for the next run, and code that does not end can be stopped. */
function useWorker(): WorkerState {
  const [lines, setLines] = useState<readonly Printed[]>([])
  const worker = useRef<Worker | undefined>(undefined)
  const [isRunning, setRunning] = useState(false)
  const count = useRef(0)
  const print = (line: FromCode) =>
    setLines(before => [...before, { ...line, number: ++count.current }].slice(-LINES_MAX))
  const end = () => {
    worker.current?.terminate()
    worker.current = undefined
    setRunning(false)
  }
  useEffect(() => () => worker.current?.terminate(), [])
  const run = (code: string) => {
    end()
    setLines([])
    setRunning(true)
    const started = new Worker(addressOfWorker(), { type: 'module' })
    worker.current = started
    started.addEventListener('message', ({ data }: MessageEvent<FromCode>) => {
      if (data.text !== '') print(data)
      if (data.kind !== 'printed') end()
    })
    started.addEventListener('error', event => {
      print({ kind: 'failed', text: event.message || 'The code could not be run.' })
      end()
    })
    const message: ToCode = { code, authorization: token.value }
    started.postMessage(message)
  }
  const stop = () => {
    end()
    print({ kind: 'failed', text: 'Stopped. Requests that were already sent may have been done.' })
  }
  return { lines, isRunning, run, stop }
}

/** The name of the worker's file has a hash, so the page gets its address from index.html. */
function addressOfWorker(): string {
  return document.querySelector<HTMLMetaElement>('meta[name=run-code]')!.content
}
