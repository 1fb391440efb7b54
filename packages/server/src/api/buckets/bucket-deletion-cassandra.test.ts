import { openCassandraStore } from '@freshet/engines/cassandra'
import { startCassandra } from '@freshet/engines/under-test/start-cassandra'
import { storesOver } from '../../testing/running-engine.js'
import { testBucketDeletion } from './under-test/test-bucket-deletion.js'

const open = storesOver(startCassandra, ({ url }, number) =>
  openCassandraStore({ url: `${url}/freshet?name=deletion_${number}`, onWarning: () => {} }),
)

testBucketDeletion('Cassandra', open)
