export { type Beat, GOSSIP_DEFAULTS, Gossip, type GossipOptions } from './gossip.js'
export { HEALTH_DEFAULTS, type HealthOptions, NodeHealth } from './node-health.js'
