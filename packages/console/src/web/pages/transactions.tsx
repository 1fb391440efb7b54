/** Recent conflicts: commits and writes that were refused because data had changed. */
import type { JSX } from 'preact'
import { type Fact, Facts } from '../components/facts.js'
import { Failure } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { Table } from '../components/table.js'
import { useRecent } from '../components/use-recent.js'
import { brief, count, timeOfDay } from '../components/words.js'
import { figures } from '../server/live-figures.js'
import { total } from '../server/metrics.js'

interface Conflict {
  readonly id: string
  readonly timeMs: number
  readonly kind: 'write' | 'commit'
  readonly changed: readonly { readonly key: string; readonly expected?: number; readonly version: number }[]
  readonly writes: readonly string[]
  readonly isLeased: boolean
}

const CONTENDED_MAX = 10

export function TransactionsPage(): JSX.Element {
  const { items, error } = useRecent<Conflict>('/conflicts')
  const now = figures.value
  const tiles: readonly Fact[] = [
    ['Commits', count(total(now, 'freshet_commits_total'))],
    ['Refused commits', count(total(now, 'freshet_conflicts_total'))],
    ['Leases granted', count(total(now, 'freshet_leases_total'))],
  ]
  return (
    <>
      <PageTitle title="Transactions">
        Commits and writes that were refused because data had changed, as far as the workers that answered remember
        them.
      </PageTitle>
      <Facts rows={tiles} isTiled />
      <Failure of={error} />
      <Contended conflicts={items} />
      <Panel title="Recent conflicts">
        {items.length === 0 ? <p class="quiet">No recent conflicts.</p> : <ConflictTable conflicts={items} />}
      </Panel>
    </>
  )
}

function Contended({ conflicts }: { readonly conflicts: readonly Conflict[] }): JSX.Element | null {
  const counts = new Map<string, number>()
  for (const { changed } of conflicts) for (const { key } of changed) counts.set(key, (counts.get(key) ?? 0) + 1)
  const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, CONTENDED_MAX)
  if (most.length === 0) return null
  return (
    <Panel title="Most contended">
      <ul class="bars">
        {most.map(([key, times]) => (
          <li key={key}>
            <span>{key}</span> <meter min={0} max={most[0]![1]} value={times} aria-label={key} />{' '}
            <b class="number">{times}</b>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function ConflictTable({ conflicts }: { readonly conflicts: readonly Conflict[] }): JSX.Element {
  return (
    <Table label="Conflicts" columns={['When', 'What had changed', 'What would have been written']}>
      {conflicts.toReversed().map(({ id, timeMs, kind, changed, writes, isLeased }) => (
        <tr key={id}>
          <td class="number">
            {timeOfDay(timeMs)} <span class="quiet">{kind}</span> {isLeased && <span class="badge good">leased</span>}
          </td>
          <td>
            {changed.map(({ key, expected, version }) => (
              <div key={key}>
                <code>{key}</code> {expected === undefined ? '' : `was read as ${wordOf(expected)}, `}is{' '}
                {wordOf(version)}
              </div>
            ))}
          </td>
          <td>
            <code>{brief(writes.join(', '), 100)}</code>
          </td>
        </tr>
      ))}
    </Table>
  )
}

function wordOf(version: number): string {
  return version === 0 ? 'absent' : String(version)
}
