/** Runs a decision of core over the nodes: sends its requests, and hands it the replies, until it has an outcome. */
import type { Ask, Reply, Step } from '@freshet/core/agreement'

export interface Machine<Outcome> {
  readonly canProceed: boolean
  proceed(): Step<Uint8Array, Outcome>
  answer(ask: Ask<Uint8Array>, reply: Reply<Uint8Array>): Step<Uint8Array, Outcome>
}

/** `graceMs`: how long to wait for the other nodes once a majority has answered. Every request is answered at some time. */
export function drive<Outcome>(
  machine: Machine<Outcome>,
  first: Step<Uint8Array, Outcome>,
  send: (ask: Ask<Uint8Array>) => Promise<Reply<Uint8Array>>,
  graceMs: number,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let isOver = false
    let timer: NodeJS.Timeout | undefined
    const end = () => {
      isOver = true
      clearTimeout(timer)
    }
    const go = (next: () => Step<Uint8Array, Outcome>) => {
      if (isOver) return
      try {
        take(next())
      } catch (error) {
        end()
        reject(error)
      }
    }
    const take = ({ asks, outcome }: Step<Uint8Array, Outcome>) => {
      if (outcome !== undefined) {
        end()
        resolve(outcome)
        return
      }
      for (const ask of asks) void send(ask).then(reply => go(() => machine.answer(ask, reply)))
      if (!machine.canProceed || timer !== undefined) return
      timer = setTimeout(() => {
        timer = undefined
        go(() => machine.proceed())
      }, graceMs)
    }
    go(() => first)
  })
}
