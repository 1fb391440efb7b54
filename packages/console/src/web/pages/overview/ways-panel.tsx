/** Which caches ask this server for data, and how much of that they had already. */
import type { JSX } from 'preact'
import { Panel } from '../../components/panel.js'
import { Table } from '../../components/table.js'
import { count, percent } from '../../components/words.js'
import { figures } from '../../server/live-figures.js'
import { readsByWay } from '../../server/metrics.js'

const WORDS: Readonly<Record<string, string>> = {
  direct: 'no cache',
  unnamed: 'an unnamed one',
  other: 'others',
}

export function WaysPanel(): JSX.Element {
  const ways = readsByWay(figures.value)
  const all = ways.reduce((sum, { reads }) => sum + reads, 0)
  return (
    <Panel title="Reads that came here, by the cache that asked">
      <p class="quiet">
        What a cache asks for is what it could not answer by itself; what it did answer, it does not tell. Counted since
        the server was started.
      </p>
      {all === 0 ? (
        <p class="quiet">There was none.</p>
      ) : (
        <Table label="Caches that asked" columns={['By way of', 'Reads', 'Of all', 'Had it already (304)']}>
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
