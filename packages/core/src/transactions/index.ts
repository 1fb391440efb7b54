export { LeaseQueue, type LeaseQueueLimits, type Outcome, type Step, type Ticket } from './lease-queue.js'
