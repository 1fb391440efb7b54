/** How the server is doing, live. */
import type { JSX } from 'preact'
import { Chart } from '../parts/chart.js'
import { Failure } from '../parts/notice.js'
import { PageTitle, Panel } from '../parts/panel.js'
import { bytes, count, duration, percent } from '../parts/words.js'
import { readTally } from '../server/database.js'
import { failure, figures, type Sample, samples } from '../server/live-figures.js'
import { total } from '../server/metrics.js'
import { serverFacts } from '../server/server-facts.js'
import { WaysPanel } from './overview/ways-panel.js'

export function Overview(): JSX.Element {
  return (
    <>
      <PageTitle title="Overview">Of all workers together; read every two seconds while this tab is shown.</PageTitle>
      <Failure of={failure.value} />
      <Tiles />
      <Charts />
      <WaysPanel />
      <ServerPanel />
    </>
  )
}

function Tiles(): JSX.Element {
  const now = figures.value
  const latest = samples.value.at(-1)
  const lagS = Math.max(
    0,
    ...now.filter(({ name }) => name === 'freshet_invalidation_lag_seconds').map(({ value }) => value),
  )
  const tiles: readonly (readonly [label: string, text: string])[] = [
    ['Requests', latest === undefined ? '–' : `${count(latest.requestsPerS)} /s`],
    ['Origin reads', latest === undefined ? '–' : `${count(latest.originReadsPerS)} /s`],
    ['Commits', latest === undefined ? '–' : `${count(latest.commitsPerS)} /s`],
    ['Replays answered', count(total(now, 'freshet_replays_total'))],
    ['Sketch, as sent', bytes(total(now, 'freshet_sketch_bytes'))],
    ['Sketch false alarms', percent(total(now, 'freshet_sketch_false_positive_rate'))],
    ['Buckets', count(total(now, 'freshet_buckets'))],
    ['Listeners', count(total(now, 'freshet_event_clients'))],
    ['Refused commits', count(total(now, 'freshet_conflicts_total'))],
    ['Log followers behind', duration(total(now, 'freshet_log_lag_seconds') * 1000)],
    ['Waiting for a position', count(total(now, 'freshet_position_waiters'))],
    ...(serverFacts.value?.has.caches ? [['Purges behind', duration(lagS * 1000)] as const] : []),
  ]
  return (
    <dl class="tiles">
      {tiles.map(([label, text]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd class="number">{text}</dd>
        </div>
      ))}
    </dl>
  )
}

function Charts(): JSX.Element {
  const kept = samples.value
  const timesMs = kept.map(({ timeMs }) => timeMs)
  const line = (label: string, pick: (sample: Sample) => number | undefined, unit = '') => ({
    label,
    unit,
    values: kept.map(pick),
  })
  return (
    <div class="charts">
      <Chart
        title="Requests a second"
        timesMs={timesMs}
        lines={[
          line('all', each => each.requestsPerS),
          line('objects read from the store', each => each.originReadsPerS),
          line('304: the reader had it', each => each.notModifiedPerS),
        ]}
      />
      <Chart
        title="Commits a second"
        timesMs={timesMs}
        lines={[
          line('made', each => each.commitsPerS),
          line('refused: something had changed', each => each.conflictsPerS),
          line('sent again, answered as before', each => each.replaysPerS),
        ]}
      />
      <Chart
        title="Sketch: what changed during the window"
        timesMs={timesMs}
        lines={[line('changes', each => each.sketchChanges), line('segments', each => each.sketchSegments)]}
      />
      <Chart
        title="Milliseconds"
        timesMs={timesMs}
        lines={[
          line('a session here learns of a commit after', each => each.stalenessMs, ' ms'),
          line('median answer below', each => each.medianMs, ' ms'),
          line('99 of 100 answers below', each => each.p99Ms, ' ms'),
        ]}
      />
    </div>
  )
}

function ServerPanel(): JSX.Element {
  const { node, pid, startedMs, log, supports, settings } = serverFacts.value!
  const tally = Object.entries(readTally.value).filter(([, reads]) => reads > 0)
  const rows: readonly (readonly [label: string, text: string])[] = [
    [
      'Acknowledged means',
      { disk: 'on disk', relaxed: 'survives the process', none: 'in memory' }[supports.durability],
    ],
    ['Up for', duration(Date.now() - startedMs)],
    ['Process', `${pid}, Node ${node}`],
    ['Change log', `${log}, at position ${total(figures.value, 'freshet_log_position')}`],
    [
      'Copies live for',
      `${duration(Number(settings.lifetimeMs))}, at most ${duration(Number(settings.lifetimeMsMax))}`,
    ],
    [
      'Sketch takes for changed what is not',
      `${percent(total(figures.value, 'freshet_sketch_false_positive_rate'))} of the time now; each of its filters ${percent(Number(settings.falsePositiveRateMax))} at most`,
    ],
    ['Operations remembered for', duration(supports.retentionMs)],
    [
      "This page's own reads",
      tally.length === 0 ? 'none yet' : tally.map(([from, reads]) => `${count(reads)} from ${from}`).join(', '),
    ],
  ]
  return (
    <Panel title="This server">
      <dl class="facts">
        {rows.map(([label, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
