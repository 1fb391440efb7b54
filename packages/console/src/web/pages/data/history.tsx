/** When an object changed, from the change log, as far back as the log goes. The log has no values. */
import type { JSX } from 'preact'
import { Failure } from '../../components/notice.js'
import { Table } from '../../components/table.js'
import { useLoaded } from '../../components/use-loaded.js'
import { brief, duration } from '../../components/words.js'
import { call } from '../../server/call.js'

interface ChangePage {
  readonly entries: readonly Entry[]
  readonly next?: number
  readonly trimmedTo: number
}

interface Entry {
  readonly position: number
  readonly agoMs: number
  readonly keys: readonly string[]
  readonly tags: readonly string[]
}

/** The log may have older changes, which are not shown. */
const SHOWN_MAX = 200

export function History({
  name,
  version,
}: {
  readonly name: string
  readonly version: number | undefined
}): JSX.Element {
  const { value, error } = useLoaded(() => readHistory(name), `${name} ${version}`)
  if (value === undefined)
    return error === undefined ? <p class="quiet">Looking through the log…</p> : <Failure of={error} />
  if (value.length === 0)
    return <p class="quiet">No entries: it has not changed for as long as the change log goes back.</p>
  return (
    <Table label="History" columns={['Version', 'When', 'In the same commit']}>
      {value.map(({ position, agoMs, keys }) => (
        <tr key={position}>
          <td class="number">
            {position} {position === version && <span class="badge good">now</span>}
          </td>
          <td>{duration(agoMs)} ago</td>
          <td>{brief(keys.filter(key => key !== name).join(', '), 80)}</td>
        </tr>
      ))}
    </Table>
  )
}

/** The newest first. */
async function readHistory(name: string): Promise<readonly Entry[]> {
  let found: readonly Entry[] = []
  for (let after: number | undefined; ; ) {
    const from = after === undefined ? '' : `after=${after}&`
    const page = await call<ChangePage>(`/changes?${from}limit=1000&of=${encodeURIComponent(name)}`)
    found = [...found, ...page.entries].slice(-SHOWN_MAX)
    if (page.next === undefined) return found.toReversed()
    after = page.next
  }
}
