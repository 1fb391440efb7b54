import { testSplit } from '../under-test/test-split.js'
import { usePostgresShards } from '../under-test/use-shards.js'

const started = usePostgresShards()

testSplit(started)
