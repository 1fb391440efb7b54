/** Collects what the page's readers did, until the judge fetches it. */
import type { Step } from '../page-protocol.js'

export class StepLog {
  #steps: Step[] = []
  #reads = 0

  add(step: Step): void {
    this.#steps.push(step)
  }

  /** A number that no other read of this page has. */
  nextRead(): number {
    return this.#reads++
  }

  take(): readonly Step[] {
    const steps = this.#steps
    this.#steps = []
    return steps
  }
}
