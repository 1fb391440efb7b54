import { testRefusedMove } from '../under-test/test-refused-move.js'
import { usePostgresShards } from '../under-test/use-shards.js'

const started = usePostgresShards()

testRefusedMove(started)
