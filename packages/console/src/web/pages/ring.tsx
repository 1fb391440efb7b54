/** The nodes of a ring: which are well, how far each is, and which has lost its data. */
import type { JSX } from 'preact'
import { Failure, Notice } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { StateRow, type StateRowProps } from '../components/state-row.js'
import { useLoaded } from '../components/use-loaded.js'
import { count } from '../components/words.js'
import { call } from '../server/call.js'

interface RingNode {
  readonly place: string
  readonly state: 'well' | 'silent' | 'emptied' | 'rebuilding'
  readonly behind?: number
  readonly durability?: 'disk' | 'relaxed' | 'none'
  readonly trouble?: string
}

interface Ring {
  readonly nodes: readonly RingNode[]
  /** How many nodes must be well. */
  readonly needed: number
}

const EVERY_MS = 1000

export function RingPage(): JSX.Element {
  const { value, error } = useLoaded(() => call<Ring>('/nodes'), 'nodes', EVERY_MS)
  return (
    <>
      <PageTitle title="Ring">
        Several stores as one. The ring works as long as more than half of its nodes do.
      </PageTitle>
      <Failure of={error} />
      {value !== undefined && (
        <>
          <Verdict {...value} />
          <Panel title="Nodes">
            <ul class="plain-list">
              {value.nodes.map(node => (
                <NodeRow key={node.place} {...node} />
              ))}
            </ul>
          </Panel>
        </>
      )}
    </>
  )
}

function Verdict({ nodes, needed }: Ring): JSX.Element {
  const voting = nodes.filter(({ state }) => state === 'well' || state === 'rebuilding').length
  const spare = voting - needed
  const found = `${voting} of ${nodes.length} nodes vote, ${needed} are needed`
  if (spare < 0) return <Notice kind="bad">{found}: nothing is read or written until enough nodes are back.</Notice>
  if (voting === nodes.length) return <Notice kind="good">{`${found}: the ring can lose ${spare}.`}</Notice>
  return <Notice kind="warning">{`${found}: the ring can lose ${spare === 0 ? 'no more' : `${spare} more`}.`}</Notice>
}

const STATES: Readonly<Record<RingNode['state'], readonly [badge: StateRowProps['badge'], text: string]>> = {
  well: ['good', 'well'],
  silent: ['error', 'does not answer'],
  emptied: ['error', 'has lost its data: no vote'],
  rebuilding: ['warning', 'is being rebuilt from the others'],
}

const DURABILITIES = {
  disk: 'on disk when acknowledged',
  relaxed: 'acknowledged before it is on disk',
  none: 'in memory only',
} as const

function NodeRow({ place, state, behind, durability, trouble }: RingNode): JSX.Element {
  const [badge, text] = STATES[state]
  const words = [
    ...(behind === undefined ? [] : [behind === 0 ? 'up to date' : `${count(behind)} records behind`]),
    ...(durability === undefined ? [] : [DURABILITIES[durability]]),
  ]
  return <StateRow name={place} badge={badge} state={text} words={words} detail={trouble} />
}
