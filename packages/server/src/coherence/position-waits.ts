/**
 * `?at=b` is answered only from a state that includes b. A request that comes before the store has reached b waits a little.
 * After that, or if too many requests wait, it is refused, and no cache keeps the refusal.
 */
import { positionAtTime, type Store } from '@freshet/core/store'
import { FreshetError, type Position } from '@freshet/protocol'
import { overLimit } from '../settings/limits.js'
import type { ServerSettings } from '../settings/server-settings.js'

/** No log can be this far ahead of the time of day: commits would have had to come faster than any store can commit. */
const AHEAD_MS_MAX = 24 * 3600 * 1000
/** How often to poll a store that may not notify of every commit. */
const ASK_AGAIN_MS = 50

export class PositionWaits {
  readonly #store: Store
  readonly #settings: ServerSettings
  readonly #waiting = new Set<() => void>()
  #isStopping = false
  #stopListening: (() => void) | undefined

  constructor(store: Store, settings: ServerSettings) {
    this.#store = store
    this.#settings = settings
  }

  get size(): number {
    return this.#waiting.size
  }

  /**
   * Resolves with a position that is at least `at`. Throws PARAMETER_INVALID, POSITION_NOT_REACHED, SERVER_BUSY,
   * SERVER_STOPPING.
   */
  async reach(at: Position): Promise<Position> {
    const deadlineMs = performance.now() + this.#settings.positionWaitMsMax
    for (;;) {
      const position = await this.#store.position()
      if (position >= at) return position
      if (at > Math.max(position, positionAtTime(Date.now() + AHEAD_MS_MAX))) throw outOfReach(at, position)
      const leftMs = deadlineMs - performance.now()
      if (leftMs <= 0) throw notReached(at, position)
      await this.#pause(Math.min(leftMs, ASK_AGAIN_MS))
    }
  }

  stop(): void {
    this.#isStopping = true
    this.#wake()
  }

  #wake(): void {
    for (const resume of this.#waiting) resume()
  }

  #leave(waiting: () => void): void {
    this.#waiting.delete(waiting)
    if (this.#waiting.size > 0) return
    this.#stopListening?.()
    this.#stopListening = undefined
  }

  #pause(waitMs: number): Promise<void> {
    if (this.#isStopping)
      throw new FreshetError(
        'SERVER_STOPPING',
        'The server is stopping. Send the request to another one, or retry later.',
      )
    const { positionWaitersMax } = this.#settings
    if (this.#waiting.size >= positionWaitersMax) throw tooManyWait(positionWaitersMax)
    this.#stopListening ??= this.#store.onCommit(() => this.#wake())
    return new Promise(resolve => {
      const resume = () => {
        clearTimeout(timer)
        this.#leave(resume)
        resolve()
      }
      const timer = setTimeout(resume, waitMs)
      this.#waiting.add(resume)
    })
  }
}

function tooManyWait(positionWaitersMax: number): FreshetError {
  return overLimit({
    code: 'SERVER_BUSY',
    limit: 'positionWaitersMax',
    what: `${positionWaitersMax} requests are waiting for a later position, the most that this server lets wait.`,
    instead: 'Retry in a second',
    details: { retryAfterS: 1, positionWaitersMax },
  })
}

function outOfReach(at: Position, position: Position): FreshetError {
  return new FreshetError(
    'PARAMETER_INVALID',
    `at=${at} is far beyond the end of the log, which is at ${position}: no answer has had this position. Use one from an ` +
      'answer of this server.',
    { details: { at, position } },
  )
}

function notReached(at: Position, position: Position): FreshetError {
  return overLimit({
    code: 'POSITION_NOT_REACHED',
    limit: 'positionWaitMsMax',
    what: `This server has reached position ${position}, and did not reach ${at} while the request waited.`,
    instead: 'Retry in a second',
    details: { at, position, retryAfterS: 1 },
  })
}
