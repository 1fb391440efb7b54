/** How the server is doing, live. */
import type { JSX } from 'preact'
import { Chart } from '../components/chart.js'
import { type Fact, Facts } from '../components/facts.js'
import { Failure } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { bytes, count, duration, percent } from '../components/words.js'
import { readTally } from '../server/database.js'
import { failure, figures, type Sample, samples } from '../server/live-figures.js'
import { total } from '../server/metrics.js'
import { serverFacts } from '../server/server-facts.js'
import { WaysPanel } from './overview/ways-panel.js'

export function Overview(): JSX.Element {
  return (
    <>
      <PageTitle title="Overview">All workers together, updated every two seconds while this tab is shown.</PageTitle>
      <Failure of={failure.value} />
      <Figures />
      <Charts />
      <WaysPanel />
      <ServerPanel />
    </>
  )
}

function Figures(): JSX.Element {
  const now = figures.value
  const latest = samples.value.at(-1)
  const lagS = Math.max(
    0,
    ...now.filter(({ name }) => name === 'freshet_invalidation_lag_seconds').map(({ value }) => value),
  )
  const tiles: readonly Fact[] = [
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
  return <Facts rows={tiles} isTiled />
}

type Line = readonly [label: string, pick: (sample: Sample) => number | undefined, unit?: string]

const CHARTS: Readonly<Record<string, readonly Line[]>> = {
  'Requests a second': [
    ['all', sample => sample.requestsPerS],
    ['objects read from the store', sample => sample.originReadsPerS],
    ['304: the reader had it already', sample => sample.notModifiedPerS],
  ],
  'Commits a second': [
    ['done', sample => sample.commitsPerS],
    ['refused: data had changed', sample => sample.conflictsPerS],
    ['retried, answered as before', sample => sample.replaysPerS],
  ],
  'Sketch: changes during the window': [
    ['changes', sample => sample.sketchChanges],
    ['segments', sample => sample.sketchSegments],
  ],
  Milliseconds: [
    ['a session here learns of a commit after', sample => sample.stalenessMs, ' ms'],
    ['median answer below', sample => sample.medianMs, ' ms'],
    ['99 of 100 answers below', sample => sample.p99Ms, ' ms'],
  ],
}

function Charts(): JSX.Element {
  const kept = samples.value
  const timesMs = kept.map(({ timeMs }) => timeMs)
  return (
    <div class="charts">
      {Object.entries(CHARTS).map(([title, lines]) => (
        <Chart
          key={title}
          title={title}
          timesMs={timesMs}
          lines={lines.map(([label, pick, unit = '']) => ({ label, unit, values: kept.map(pick) }))}
        />
      ))}
    </div>
  )
}

function ServerPanel(): JSX.Element {
  const { node, pid, startedMs, log, supports, settings } = serverFacts.value!
  const tally = Object.entries(readTally.value).filter(([, reads]) => reads > 0)
  const rows: readonly Fact[] = [
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
      'Sketch reports unchanged data as changed',
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
      <Facts rows={rows} />
    </Panel>
  )
}
