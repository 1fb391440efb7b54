/**
 * The memory for bodies of requests that have not been answered yet: bounded for all connections together.
 *
 * No address may hold more of it than is still free. So one address alone gets half of the memory, two get a third each, and
 * there is always some left for the next (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
 * Switches", 1998, with alpha = 1). A body that stops arriving is dropped before the request times out, so its memory is not
 * held for long.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FreshetError } from '@freshet/protocol'
import { changing, overLimit } from '../settings/limits.js'
import type { ServerSettings } from '../settings/server-settings.js'
import type { ClientAddresses } from './client-addresses.js'

type IntakeSettings = Pick<
  ServerSettings,
  'receivedBytesMax' | 'bodyBytesPerSMin' | 'bodyBytesMax' | 'commitBodyBytesMax'
>

const RATE_WINDOW_MS = 5000
/** The longest body must fit, even while another address holds as much. */
const LONGEST_BODIES_MIN = 4

export class BodyIntake {
  readonly #bytesMax: number
  readonly #bytesPerSMin: number
  readonly #clients: ClientAddresses
  readonly #heldBy = new Map<string, number>()
  readonly #arriving = new Set<BodyReceipt>()
  #held = 0
  #timer: NodeJS.Timeout | undefined
  /** How many bodies were refused because there was no room for them, or because they arrived too slowly. */
  refused = 0

  constructor(settings: IntakeSettings, clients: ClientAddresses) {
    const longest = Math.max(settings.bodyBytesMax, settings.commitBodyBytesMax)
    this.#bytesMax = Math.max(settings.receivedBytesMax, LONGEST_BODIES_MIN * longest)
    this.#bytesPerSMin = settings.bodyBytesPerSMin
    this.#clients = clients
  }

  /** How many bytes bodies hold now. */
  get held(): number {
    return this.#held
  }

  /** The body's memory is freed when the response is done. `onSlow` is called if the body arrives too slowly. */
  begin(request: IncomingMessage, response: ServerResponse, onSlow: (error: FreshetError) => void): BodyReceipt {
    const receipt = new BodyReceipt(this, this.#clients.networkOf(request), onSlow)
    this.#arriving.add(receipt)
    this.#timer ??= setInterval(() => this.#sweep(), RATE_WINDOW_MS / 5).unref()
    response.once('close', () => receipt.release())
    return receipt
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Throws SERVER_BUSY. */
  take(address: string, bytes: number): void {
    const own = (this.#heldBy.get(address) ?? 0) + bytes
    if (own > this.#bytesMax - this.#held - bytes) {
      this.refused++
      throw busy(this.#bytesMax)
    }
    this.#held += bytes
    this.#heldBy.set(address, own)
  }

  giveBack(address: string, bytes: number): void {
    const left = (this.#heldBy.get(address) ?? 0) - bytes
    this.#held -= bytes
    if (left > 0) this.#heldBy.set(address, left)
    else this.#heldBy.delete(address)
  }

  /** Call when the whole body has arrived, or when the rest is not needed. */
  end(receipt: BodyReceipt): void {
    this.#arriving.delete(receipt)
  }

  #sweep(): void {
    const nowMs = performance.now()
    const bytesMin = (this.#bytesPerSMin * RATE_WINDOW_MS) / 1000
    for (const receipt of this.#arriving) {
      if (!receipt.isSlow(nowMs, bytesMin)) continue
      this.#arriving.delete(receipt)
      this.refused++
      receipt.onSlow(tooSlow(this.#bytesPerSMin))
    }
    if (this.#arriving.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** How much memory a body holds, and how fast it arrives. */
export class BodyReceipt {
  readonly #intake: BodyIntake
  readonly #address: string
  readonly onSlow: (error: FreshetError) => void
  #held = 0
  #windowMs = performance.now()
  #windowBytes = 0

  constructor(intake: BodyIntake, address: string, onSlow: (error: FreshetError) => void) {
    this.#intake = intake
    this.#address = address
    this.onSlow = onSlow
  }

  /** Throws SERVER_BUSY. */
  hold(bytes: number): void {
    if (bytes <= this.#held) return
    this.#intake.take(this.#address, bytes - this.#held)
    this.#held = bytes
  }

  arrived(bytes: number): void {
    this.#windowBytes += bytes
  }

  end(): void {
    this.#intake.end(this)
  }

  release(): void {
    this.end()
    this.#intake.giveBack(this.#address, this.#held)
    this.#held = 0
  }

  /** Whether fewer than `bytesMin` arrived in the window that has passed. If enough arrived, the next window begins. */
  isSlow(nowMs: number, bytesMin: number): boolean {
    if (nowMs - this.#windowMs < RATE_WINDOW_MS) return false
    if (this.#windowBytes < bytesMin) return true
    this.#windowMs = nowMs
    this.#windowBytes = 0
    return false
  }
}

function busy(bytesMax: number): FreshetError {
  return overLimit({
    code: 'SERVER_BUSY',
    limit: 'receivedBytesMax',
    what:
      'The server has no room for this body: it is receiving too much from this address, or from all addresses together, which ' +
      `may send ${bytesMax} bytes at once. Nothing was done.`,
    instead: 'Retry later, send fewer bodies at once',
    details: { retryAfterS: 1, outcome: 'not-done' },
  })
}

function tooSlow(bytesPerSMin: number): FreshetError {
  return new FreshetError(
    'REQUEST_INCOMPLETE',
    `The body arrived more slowly than ${bytesPerSMin} bytes a second. Nothing was done. Send it again without pauses, or ` +
      `${changing('bodyBytesPerSMin', 'lower')}.`,
    { details: { bytesPerSMin, setting: 'bodyBytesPerSMin' } },
  )
}
