/**
 * One contender, alone in its process or page. The caller prepares it once, with settings that fit into a JSON message,
 * and then asks it to measure round by round. `hostInChild` and `hostInPage` put it at the other end of the connection.
 */
import type { Readings } from './side-by-side.js'

export interface ContenderWorker<Settings, Details, Measure extends string> {
  /** Loads the contender and builds what the rounds need. Returns details about the contender. */
  prepare(settings: Settings): Promise<Details>
  round(): Promise<Readings<Measure>>
}

export type ToWorker = { readonly kind: 'prepare'; readonly settings: unknown } | { readonly kind: 'round' }
export type FromWorker = { readonly answer: unknown } | { readonly failure: string }

export function hostInChild<Settings>(worker: ContenderWorker<Settings, unknown, string>): void {
  process.on('message', async (message: ToWorker) => {
    try {
      const answer =
        message.kind === 'prepare' ? await worker.prepare(message.settings as Settings) : await worker.round()
      reply({ answer })
    } catch (error) {
      reply({ failure: (error as Error).stack ?? String(error) })
    }
  })
  // Without this, the child would outlive a parent that was killed.
  process.on('disconnect', () => process.exit())
}

/** If the parent was interrupted, it no longer listens; that is not an error. */
function reply(message: FromWorker): void {
  process.send?.(message, undefined, undefined, error => error && process.exit())
}

/** The name under which a page offers its worker to the process that drives the browser. */
export const PAGE_WORKER = 'contenderWorker'

export function hostInPage<Settings>(worker: ContenderWorker<Settings, unknown, string>): void {
  Object.assign(globalThis, { [PAGE_WORKER]: worker })
}
