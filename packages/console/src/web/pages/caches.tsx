/** The caches that the server purges on every change: how far each is, and what the doctor finds. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Fact, Facts } from '../components/facts.js'
import { Failure, Notice } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { Progress } from '../components/progress.js'
import { useLoaded } from '../components/use-loaded.js'
import { count, duration } from '../components/words.js'
import { call } from '../server/call.js'
import { figures } from '../server/live-figures.js'
import { total } from '../server/metrics.js'
import { serverFacts } from '../server/server-facts.js'
import { type Examination, examine, type Finding } from './caches/examine.js'

interface Cache {
  readonly name: string
  readonly kind: string
  readonly url?: string
  readonly sites?: readonly string[]
  readonly through?: string
}

export function CachesPage(): JSX.Element {
  const { value, error } = useLoaded(() => call<{ caches: readonly Cache[] }>('/caches'), 'caches')
  return (
    <>
      <PageTitle title="Caches">
        The caches that this server purges on every change. Readers that use the client do not need that.
      </PageTitle>
      <Failure of={error} />
      {value?.caches.length === 0 && (
        <Panel title="No cache is registered">
          <p>
            Copies in caches expire, and clients of Freshet are never shown a stale one. For other readers, register
            caches under <code>caches</code> in the configuration: they are then purged on every change.
          </p>
          <p class="quiet">
            To find out what caches on the way do, run <code>freshet doctor --through {location.origin}</code>
          </p>
        </Panel>
      )}
      {value?.caches.map(cache => (
        <CachePanel key={cache.name} cache={cache} />
      ))}
    </>
  )
}

function CachePanel({ cache }: { readonly cache: Cache }): JSX.Element {
  const { name, kind, url, sites, through } = cache
  const of = (figure: string) => total(figures.value, `freshet_invalidation_${figure}`, labels => labels.cache === name)
  const isDown = of('down') > 0
  const rows: readonly Fact[] = [
    ['Purge address', url ?? 'its API'],
    ['Sites', sites?.join(', ') ?? url ?? ''],
    ['Waiting in the queue', `${count(of('queue_paths'))} paths`],
    ['Behind by', `${count(of('lag_positions'))} positions, ${duration(of('lag_seconds') * 1000)}`],
    [
      'Purged',
      `${count(of('purges_total'))} paths, ${count(of('repeats_total'))} of them again; everything ${count(of('wide_total'))} times`,
    ],
    ['Batches that failed', count(of('failures_total'))],
  ]
  return (
    <Panel
      title={`${name} (${kind})`}
      actions={<span class={`badge ${isDown ? 'error' : 'good'}`}>{isDown ? 'takes no purges' : 'up'}</span>}
    >
      <Facts rows={rows} />
      {through !== undefined && serverFacts.value?.has.doctor === true && <Doctor cache={name} through={through} />}
    </Panel>
  )
}

function Doctor({ cache, through }: { readonly cache: string; readonly through: string }): JSX.Element {
  const [state, setState] = useState<{ readonly findings: readonly Finding[]; readonly total: number }>()
  const [report, setReport] = useState<Examination>()
  const [failure, setFailure] = useState<unknown>()
  const run = async () => {
    setFailure(undefined)
    setReport(undefined)
    const found: Finding[] = []
    const onFinding = (finding: Finding, total: number) => {
      found.push(finding)
      setState({ findings: [...found], total })
    }
    setState({ findings: [], total: 0 })
    try {
      setReport(await examine(cache, onFinding))
    } finally {
      setState(undefined)
    }
  }
  return (
    <>
      <div class="row">
        <button type="button" disabled={state !== undefined} onClick={() => void run().catch(setFailure)}>
          Run the doctor
        </button>
        <span class="quiet">The doctor writes objects of its own, reads them through {through}, and removes them.</span>
      </div>
      {state !== undefined && <Progress label="The doctor" done={state.findings.length} total={state.total} />}
      <Failure of={failure} />
      {report !== undefined && <Report report={report} />}
    </>
  )
}

const BADGES: Readonly<Record<Finding['effect'], string>> = {
  fatal: 'error',
  unsafe: 'error',
  slower: 'warning',
  harmless: '',
  undecided: '',
  good: 'good',
}

function Report({ report: { isSafe, findings } }: { readonly report: Examination }): JSX.Element {
  return (
    <>
      <Notice kind={isSafe ? 'good' : 'bad'}>
        {isSafe
          ? 'Readers that use Freshet get nothing stale through this cache.'
          : 'Do not serve readers through this cache until this is fixed.'}
      </Notice>
      <ul class="plain-list">
        {findings.map(({ fact, effect, claim, saw, means, advice }) => (
          <li key={fact}>
            <span class={`badge ${BADGES[effect]}`}>{effect}</span> {claim}
            {effect !== 'good' && (
              <p class="quiet">
                {saw} {means}
              </p>
            )}
            {advice.map(({ cache, where, lines }) => (
              <details key={cache}>
                <summary>
                  {cache}: {where}
                </summary>
                <pre>{lines.join('\n')}</pre>
              </details>
            ))}
          </li>
        ))}
      </ul>
    </>
  )
}
