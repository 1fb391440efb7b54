/** A button that starts a run, stops it while it is running, and shows its status; both long panels have one. */
import { find, setText } from './page-elements.js'

/** Runs until the end, or until `signal` is aborted, and returns the result in words. */
export type Run = (signal: AbortSignal) => Promise<string>

/** `prefix` names the elements: `prefix-form`, `prefix-run`, `prefix-status`. `prepare` returns undefined if it cannot run. */
export function attachRunButton(prefix: string, prepare: () => Run | undefined): void {
  const form = find(`${prefix}-form`, HTMLFormElement)
  const button = find(`${prefix}-run`, HTMLButtonElement)
  let running: AbortController | undefined
  const start = async (run: Run) => {
    running = new AbortController()
    showRunning(form, button, true)
    try {
      setText(`${prefix}-status`, await run(running.signal))
    } catch (error) {
      setText(`${prefix}-status`, `The run failed: ${(error as Error).message}`)
      throw error
    } finally {
      running = undefined
      showRunning(form, button, false)
    }
  }
  form.addEventListener('submit', event => {
    event.preventDefault()
    if (running) return running.abort()
    const run = prepare()
    if (run) start(run)
  })
}

/** The inputs of a run cannot be changed while it is running. */
function showRunning(form: HTMLFormElement, button: HTMLButtonElement, isRunning: boolean): void {
  button.textContent = isRunning ? 'Stop' : 'Run'
  for (const input of form.querySelectorAll('input')) input.disabled = isRunning
}
