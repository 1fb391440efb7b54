/** The replicas that a store is read from: how much each answers, and which is left alone. */
import type { JSX } from 'preact'
import { Failure } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { StateRow } from '../components/state-row.js'
import { useLoaded } from '../components/use-loaded.js'
import { count, duration } from '../components/words.js'
import { call } from '../server/call.js'

interface Source {
  readonly source: string
  readonly reads: number
  readonly behind?: number
  readonly isUsed?: boolean
  readonly answerMs?: number
}

const EVERY_MS = 1000

export function ReplicasPage(): JSX.Element {
  const { value, error } = useLoaded(() => call<{ replicas: readonly Source[] }>('/nodes'), 'replicas', EVERY_MS)
  const all = value?.replicas.reduce((sum, { reads }) => sum + reads, 0) ?? 0
  return (
    <>
      <PageTitle title="Replicas">
        Replicas answer reads of data that has not changed since they were up to date. Counted by the worker that
        answered.
      </PageTitle>
      <Failure of={error} />
      {value !== undefined && (
        <Panel title={`${count(all)} reads`}>
          <ul class="plain-list">
            {value.replicas.map(each => (
              <SourceRow key={each.source} {...each} all={all} />
            ))}
          </ul>
        </Panel>
      )}
    </>
  )
}

function SourceRow({ source, reads, behind, isUsed, answerMs, all }: Source & { readonly all: number }): JSX.Element {
  const share = all === 0 ? '' : ` (${Math.round((100 * reads) / all)} %)`
  const words = [
    `${count(reads)} reads${share}`,
    ...(behind === undefined ? [] : [`could not answer ${count(behind)} times, because it was behind`]),
    ...(answerMs === undefined ? [] : [`answers in ${duration(answerMs)}`]),
  ]
  const state = isUsed === undefined ? undefined : isUsed ? 'is read from' : 'is left alone'
  return <StateRow name={source} badge={isUsed ? 'good' : 'error'} state={state} words={words} />
}
