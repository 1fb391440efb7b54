/**
 * Logs who was refused, and from where: tokens that are not accepted, and requests that the rules do not allow. An attacker
 * must not be able to fill the disk with these lines or hide among them. So an address gets one line for each kind of refusal
 * in ten seconds, which says how many there were, and all addresses together get a bounded number of lines.
 */
import type { FreshetError, FreshetErrorCode } from '@freshet/protocol'
import type { Log } from '../monitoring/log.js'
import type { ClientAddresses } from './client-addresses.js'
import type { Exchange } from './exchange.js'

const REFUSALS: readonly FreshetErrorCode[] = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'HOST_REFUSED',
  'ORIGIN_REFUSED',
  'RATE_LIMITED',
]
const PERIOD_MS = 10_000
const LINES_PER_PERIOD_MAX = 200
const PATH_CHARACTERS_MAX = 200

export class RefusalLog {
  readonly #log: Log
  readonly #clients: ClientAddresses
  readonly #nowMs: () => number
  /** How many more refusals of each kind there were in this period. */
  #more = new Map<string, number>()
  #unlogged = 0
  #periodMs = Number.NEGATIVE_INFINITY

  constructor(log: Log, clients: ClientAddresses, nowMs: () => number = () => performance.now()) {
    this.#log = log
    this.#clients = clients
    this.#nowMs = nowMs
  }

  note({ request, method, subject, requestId }: Exchange, { code, message }: FreshetError): void {
    if (!REFUSALS.includes(code)) return
    this.#begin()
    const network = this.#clients.networkOf(request)
    const kind = `${code} ${network}`
    const before = this.#more.get(kind)
    if (before !== undefined) {
      this.#more.set(kind, before + 1)
      return
    }
    if (this.#more.size >= LINES_PER_PERIOD_MAX) {
      this.#unlogged++
      return
    }
    this.#more.set(kind, 0)
    // The part after the question mark is data.
    const path = (request.url ?? '').split('?', 1)[0]!.slice(0, PATH_CHARACTERS_MAX)
    const from = this.#clients.addressOf(request)
    this.#log.write('info', 'refused', { requestId, code, reason: message, who: subject, from, method, path })
  }

  /** At the first refusal of a period, sums up those of the period before. */
  #begin(): void {
    const nowMs = this.#nowMs()
    if (nowMs - this.#periodMs < PERIOD_MS) return
    this.#periodMs = nowMs
    for (const [kind, more] of this.#more) {
      const [code, network] = kind.split(' ')
      if (more > 0) this.#log.write('info', 'refused again', { code, network, times: more })
    }
    if (this.#unlogged > 0) this.#log.write('info', 'refused, from further addresses', { times: this.#unlogged })
    this.#more = new Map()
    this.#unlogged = 0
  }
}
