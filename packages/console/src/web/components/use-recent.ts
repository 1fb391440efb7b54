/** Follows a list of recent items on the server: every two seconds the new ones are fetched and added to those known. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../server/call.js'
import { token } from '../server/token.js'

export interface Recent<Item> {
  /** The oldest first. */
  readonly items: readonly Item[]
  readonly error: unknown
}

const EVERY_MS = 2000
const KEPT_MAX = 1000

export function useRecent<Item extends { readonly id: string; readonly timeMs: number }>(path: string): Recent<Item> {
  const [state, setState] = useState<Recent<Item>>({ items: [], error: undefined })
  const who = token.value
  useEffect(() => {
    void who
    let isOver = false
    let known: ReadonlyMap<string, Item> = new Map()
    let sinceMs = 0
    const look = async () => {
      try {
        const { items } = await call<{ items: readonly Item[] }>(`${path}?since=${sinceMs}`)
        sinceMs = items.at(-1)?.timeMs ?? sinceMs
        known = new Map([...known, ...items.map(item => [item.id, item] as const)].slice(-KEPT_MAX))
        if (!isOver) setState({ items: [...known.values()].sort((a, b) => a.timeMs - b.timeMs), error: undefined })
      } catch (error) {
        if (!isOver) setState(before => ({ ...before, error }))
      }
    }
    void look()
    const timer = setInterval(() => void look(), EVERY_MS)
    return () => {
      isOver = true
      clearInterval(timer)
    }
  }, [path, who])
  return state
}
