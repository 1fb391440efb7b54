import { testSplit } from '../under-test/test-split.js'
import { useMariadbShards } from '../under-test/use-shards.js'

const started = useMariadbShards()

testSplit(started)
