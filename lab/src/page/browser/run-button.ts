/** A button that starts a run, stops it while it goes, and says how it stands; both long panels have one. */
import { find, setText } from './page-elements.js'

/** Does the run until it ends or `signal` is aborted, and says what came of it. */
export type Run = (signal: AbortSignal) => Promise<string>

/** `prefix` names the elements: `prefix-form`, `prefix-run`, `prefix-status`. `prepare` says undefined if it cannot be run. */
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

/** What a run was started with cannot be changed under it. */
function showRunning(form: HTMLFormElement, button: HTMLButtonElement, isRunning: boolean): void {
  button.textContent = isRunning ? 'Stop' : 'Run'
  for (const input of form.querySelectorAll('input')) input.disabled = isRunning
}
