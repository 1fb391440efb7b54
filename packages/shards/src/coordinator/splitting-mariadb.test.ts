import { test } from 'vitest'
import { testSplitting } from '../under-test/test-splitting.js'
import { useMariadbShards } from '../under-test/use-shards.js'

const started = useMariadbShards({ settings: { innodb_flush_log_at_trx_commit: '0' } })

test('shards answer random queries as one MariaDB does, or refuse them with a reason', () =>
  testSplitting('MariaDB', started()))
