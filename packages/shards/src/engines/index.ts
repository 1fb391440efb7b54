export { type OpenShardOptions, openGlobalLog, openShard } from './open-shards.js'
