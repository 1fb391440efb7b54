/** Which caches ask this server for data, and how much of it they had already. */
import type { JSX } from 'preact'
import { Panel } from '../../components/panel.js'
import { Table } from '../../components/table.js'
import { count, percent } from '../../components/words.js'
import { figures } from '../../server/live-figures.js'
import { readsByWay } from '../../server/metrics.js'

const WORDS: Readonly<Record<string, string>> = {
  direct: 'no cache',
  unnamed: 'an unnamed cache',
  other: 'other caches',
}

export function WaysPanel(): JSX.Element {
  const ways = readsByWay(figures.value)
  const all = ways.reduce((sum, { reads }) => sum + reads, 0)
  return (
    <Panel title="Reads of this server, by cache">
      <p class="quiet">
        A cache asks only for what it cannot answer itself. It does not report the reads that it answers. Counted since
        the server was started.
      </p>
      {all === 0 ? (
        <p class="quiet">No reads yet.</p>
      ) : (
        <Table label="Reads by cache" columns={['Through', 'Reads', 'Share', 'Unchanged (304)']}>
          {ways.map(({ via, reads, unchanged }) => (
            <tr key={via}>
              <th scope="row">{WORDS[via] ?? via}</th>
              <td class="number">{count(reads)}</td>
              <td class="number">{percent(reads / all)}</td>
              <td class="number">{percent(unchanged / reads)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}
