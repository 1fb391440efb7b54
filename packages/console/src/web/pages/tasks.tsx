/** Work in the background: migrations, checks, indexes that are being built. */
import type { Task } from '@freshet/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Failure } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { Progress } from '../components/progress.js'
import { useLoaded } from '../components/use-loaded.js'
import { brief, count } from '../components/words.js'
import { call } from '../server/call.js'
import { knownBuckets, loadBuckets } from '../server/server-facts.js'

interface IndexState {
  readonly bucket: string
  readonly name: string
  readonly isReady: boolean
  readonly done: number
  readonly total: number
}

const EVERY_MS = 1500

export function TasksPage(): JSX.Element {
  const { value: tasks, error, reload } = useLoaded(readTasks, 'tasks', EVERY_MS)
  const { value: indexes, error: indexError } = useLoaded(readIndexes, 'indexes', EVERY_MS)
  return (
    <>
      <PageTitle title="Tasks">Work in the background. It survives a restart.</PageTitle>
      <Failure of={error ?? indexError} />
      <Panel title="Migrations and checks">
        {tasks?.length === 0 && <p class="quiet">There are no tasks.</p>}
        {tasks?.map(task => (
          <TaskRow key={task.id} task={task} onChange={reload} />
        ))}
      </Panel>
      <Panel title="Indexes">
        {indexes?.length === 0 && <p class="quiet">No bucket has an index.</p>}
        {indexes?.map(({ bucket, name, isReady, done, total }) => (
          <div key={`${bucket} ${name}`} class="task">
            <div class="row">
              <b>{name}</b> <span class="quiet">{bucket}</span>
              <span class={`badge ${isReady ? 'good' : ''}`}>{isReady ? 'ready' : 'being built'}</span>
            </div>
            {!isReady && <Progress label={`Index ${name} of ${bucket}`} done={done} total={total} />}
          </div>
        ))}
      </Panel>
    </>
  )
}

const BADGES: Readonly<Record<Task['state'], string>> = {
  running: '',
  done: 'good',
  failed: 'error',
  cancelled: 'warning',
}

function TaskRow({ task, onChange }: { readonly task: Task; readonly onChange: () => void }): JSX.Element {
  const { id, kind, bucket, name, state, phase, done, total, changed, error } = task
  const [failure, setFailure] = useState<unknown>()
  const send = (verb: 'resume' | 'cancel') => {
    call(`/tasks/${id}`, { method: 'POST', body: { do: verb } }).then(onChange, setFailure)
  }
  const isOpen = state === 'running' || (state === 'failed' && kind === 'migration')
  return (
    <div class="task">
      <div class="row">
        <b>{name ?? kind}</b> <span class="quiet">{bucket}</span> <span class={`badge ${BADGES[state]}`}>{state}</span>
        <span class="quiet">
          {phase}, {count(changed)} changed
        </span>
        {state === 'failed' && kind === 'migration' && (
          <button type="button" onClick={() => send('resume')}>
            Resume
          </button>
        )}
        {isOpen && (
          <button type="button" onClick={() => send('cancel')}>
            Cancel
          </button>
        )}
      </div>
      <Progress label={`${kind} of ${bucket}`} done={done} total={total} />
      <Failure of={failure ?? (error && new Error(error.message))} />
      {error?.violations?.slice(0, 5).map(({ path, at, expected }) => (
        <p key={`${path}${at}`} class="quiet">
          <code>{path}</code> {at} {brief(expected)}
        </p>
      ))}
    </div>
  )
}

/** The newest first. */
async function readTasks(): Promise<readonly Task[]> {
  return (await call<{ tasks: readonly Task[] }>('/tasks')).tasks.toReversed()
}

async function readIndexes(): Promise<readonly IndexState[]> {
  await loadBuckets()
  const buckets = knownBuckets.value?.filter(({ indexes }) => indexes !== undefined && indexes.length > 0) ?? []
  const states = buckets.map(async ({ name: bucket }) => {
    const { indexes = [] } = await call<{ indexes?: readonly Omit<IndexState, 'bucket'>[] }>(`/db/${bucket}?settings`)
    return indexes.map(index => ({ ...index, bucket }))
  })
  return (await Promise.all(states)).flat()
}
