/** Metrics of a store that consists of several nodes, or that is read from replicas. */
import type { Store } from '@freshet/core/store'
import { counter, type Gauge, gauge } from './metrics.js'

export function storeGauges(store: Store): readonly Gauge[] {
  const nodes = () => store.nodes?.() ?? []
  return [
    counter('freshet_store_reads_total', 'Reads answered by the database, and by its replicas, if there are any.', () =>
      (store.readCounts?.() ?? []).map(({ source, reads }) => ({ labels: `source="${source}"`, value: reads })),
    ),
    counter(
      'freshet_store_reads_behind_total',
      'Reads sent to a replica whose answer was not used because it was behind.',
      () =>
        (store.readCounts?.() ?? []).flatMap(({ source, behind }) =>
          behind === undefined ? [] : [{ labels: `source="${source}"`, value: behind }],
        ),
    ),
    gauge(
      'freshet_store_replica_used',
      'Whether a replica is read from: 0 while it does not answer, or is too far behind.',
      () =>
        (store.readCounts?.() ?? []).flatMap(({ source, isUsed }) =>
          isUsed === undefined ? [] : [{ labels: `source="${source}"`, value: isUsed ? 1 : 0 }],
        ),
    ),
    gauge(
      'freshet_store_node_well',
      'Whether a node of the ring is well: 0 while it does not answer, or has lost its data.',
      () => nodes().map(({ place, state }) => ({ labels: `node="${place}"`, value: state === 'well' ? 1 : 0 })),
    ),
    gauge(
      'freshet_store_node_behind',
      'Records of the log that a node of the ring has not applied to its rows yet.',
      () =>
        nodes().flatMap(({ place, behind }) =>
          behind === undefined ? [] : [{ labels: `node="${place}"`, value: behind }],
        ),
    ),
  ]
}
