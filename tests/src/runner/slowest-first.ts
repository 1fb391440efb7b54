/**
 * The order of the test files. Long ones come first, so that no long file runs alone at the end while a processor is idle. The
 * others stay grouped by project: files of a project that shares its worker then follow each other in it.
 *
 * The list need not be complete or exact: a missing or misplaced file only costs time. Update it from the ten slowest files that
 * a full run prints at its end.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest first; each is the end of its path. */
export const SLOWEST: readonly string[] = [
  'caches/stalls-lab',
  'cassandra/three-nodes',
  'cassandra/cassandra-store',
  'postgres/postgres-store',
  'mariadb/mariadb-store',
  'cassandra/faults',
  'end-to-end/fleet',
  'end-to-end/transfer-commands',
  'end-to-end/ring-command',
  'quorum/quorum-over-redis-and-postgres',
  'replicas/replicas-of-postgres',
  'end-to-end/crash-points',
  'end-to-end/newcomer',
  'caches/counters-engines-lab',
  'routes/streams-postgres',
  'routes/streams-mariadb',
  'coherence-simulator/planted-bugs',
  'coherence-simulator/simulate',
  'cells-simulator/cells-schedule',
  'lmdb/embedded-store',
  'fbf/fbf',
  'kts/kts',
  'quorum/quorum-over-redis',
  'end-to-end/console',
  'end-to-end/put-back-rules',
  'caches/coherence-engines-lab',
  'caches/coherence',
  'end-to-end/kill-server',
  'end-to-end/command',
  'mariadb/tables/tables',
  'cassandra/restored',
  'end-to-end/init-command',
  'caches/doctor-command',
  'hash-quality/hash-quality',
  'redis/redis-store',
  'postgres/faults',
  'mariadb/faults',
  'caches/chromium-coherence',
  'replicas/standbys-of-mariadb-and-postgres',
  'end-to-end/transaction-history',
  'end-to-end/copy-command',
  'access/hidden-rows-differential',
  'access/hidden-rows-mariadb',
  'access/hidden-rows-postgres',
  'coordinator/splitting-postgres',
  'routes/absent-shard-mariadb',
  'redis/redis-cluster',
  'postgres/tables/tables',
  'quorum/faults-redis',
  'buckets/bucket-deletion-cassandra',
  'postgres/lost-writes',
  'end-to-end/bench-command',
  'caches/shipped-configurations',
  'tidy/dead-exports',
]

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return slowestFirst(files)
  }
}

/** The part of a test file's specification that its place depends on. */
type Placed = Pick<TestSpecification, 'moduleId'> & { readonly project: { readonly name: string } }

export function slowestFirst<File extends Placed>(files: readonly File[]): File[] {
  return files
    .map(file => ({ file, rank: rankOf(file.moduleId) }))
    .sort((a, b) => a.rank - b.rank || compare(a.file, b.file))
    .map(({ file }) => file)
}

function rankOf(path: string): number {
  const rank = SLOWEST.findIndex(name => path.endsWith(`/${name}.test.ts`))
  return rank === -1 ? SLOWEST.length : rank
}

function compare(a: Placed, b: Placed): number {
  return a.project.name.localeCompare(b.project.name) || a.moduleId.localeCompare(b.moduleId)
}
