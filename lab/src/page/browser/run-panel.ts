/** A panel with two or more number inputs, a preview of their meaning, and a run. */
import { findInput, numberIn, withErrorShown } from './page-elements.js'
import { attachRunButton, type Run } from './run-button.js'

export interface RunPanel<Plan> {
  /** The prefix of its elements' ids: `fill-run`, `fill-error`. */
  readonly name: string
  /** The ids of its inputs, without the name. */
  readonly inputs: readonly string[]
  /** Throws if the numbers cannot be used; the panel then shows why. */
  readonly planOf: (...numbers: number[]) => Plan
  readonly preview: (plan: Plan) => void
  readonly runOf: (plan: Plan) => Run
}

export function mountRunPanel<Plan>({ name, planOf, preview, runOf, ...panel }: RunPanel<Plan>): void {
  const inputs = panel.inputs.map(id => findInput(`${name}-${id}`))
  const readPlan = () => {
    const numbers = inputs.map(numberIn)
    return withErrorShown(`${name}-error`, inputs, () => planOf(...numbers))
  }
  const show = () => {
    const plan = readPlan()
    if (plan) preview(plan)
  }
  for (const input of inputs) input.addEventListener('input', show)
  attachRunButton(name, () => {
    const plan = readPlan()
    return plan && runOf(plan)
  })
  show()
}
