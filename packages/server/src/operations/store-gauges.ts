/** What is counted of the store where it is made of several, or read from replicas. */
import type { Store } from '@freshet/core/store'
import type { Gauge } from './metrics.js'

export function storeGauges(store: Store): readonly Gauge[] {
  const nodes = () => store.nodes?.() ?? []
  return [
    {
      name: 'freshet_store_reads_total',
      type: 'counter',
      help: 'Reads that the database answered, and its replicas, where there are any.',
      value: () =>
        (store.readCounts?.() ?? []).map(({ source, reads }) => ({ labels: `source="${source}"`, value: reads })),
    },
    {
      name: 'freshet_store_reads_behind_total',
      type: 'counter',
      help: 'What replicas were asked for and not believed, for they were behind in it.',
      value: () =>
        (store.readCounts?.() ?? []).flatMap(({ source, behind }) =>
          behind === undefined ? [] : [{ labels: `source="${source}"`, value: behind }],
        ),
    },
    {
      name: 'freshet_store_replica_used',
      help: 'Whether a replica is read from: 0 while it does not answer, or is too far behind.',
      together: 'max',
      value: () =>
        (store.readCounts?.() ?? []).flatMap(({ source, isUsed }) =>
          isUsed === undefined ? [] : [{ labels: `source="${source}"`, value: isUsed ? 1 : 0 }],
        ),
    },
    {
      name: 'freshet_store_node_well',
      help: 'Whether a node of the ring is well: 0 while it does not answer, or has lost what it had.',
      value: () => nodes().map(({ place, state }) => ({ labels: `node="${place}"`, value: state === 'well' ? 1 : 0 })),
    },
    {
      name: 'freshet_store_node_behind',
      help: 'Records of the log that a node of the ring has not in its rows yet.',
      value: () =>
        nodes().flatMap(({ place, behind }) =>
          behind === undefined ? [] : [{ labels: `node="${place}"`, value: behind }],
        ),
    },
  ]
}
