export { FleetClock, LEASE_MS } from './fleet-clock.js'
export { SharedClock } from './shared-clock.js'
export { type ClockBase, monotonicMs, StoreClock } from './store-clock.js'
