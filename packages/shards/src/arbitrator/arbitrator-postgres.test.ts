import { testArbitration } from '../under-test/test-arbitration.js'
import { usePostgresShards } from '../under-test/use-shards.js'

const started = usePostgresShards()

testArbitration(started)
