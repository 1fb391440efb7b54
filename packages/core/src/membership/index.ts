export { HEALTH_DEFAULTS, type HealthOptions, NodeHealth } from './node-health.js'
