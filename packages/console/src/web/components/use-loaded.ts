/** A value from the server: loaded when a page is opened, again on demand, and at an interval if `everyMs` is given. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { token } from '../server/token.js'

export interface Loaded<Value> {
  readonly value: Value | undefined
  readonly error: unknown
  readonly reload: () => void
}

/** `about` says what the value depends on: when it changes, the value loaded before is dropped. */
export function useLoaded<Value>(load: () => Promise<Value>, about: string, everyMs?: number): Loaded<Value> {
  const [state, setState] = useState<{ about: string; value?: Value; error?: unknown }>({ about })
  const [turn, setTurn] = useState(0)
  const latest = useRef(load)
  latest.current = load
  const who = token.value
  useEffect(() => {
    void [turn, who]
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const run = async () => {
      try {
        const value = await latest.current()
        if (!isOver) setState({ about, value })
      } catch (error) {
        if (!isOver) setState(before => ({ ...(before.about === about ? before : { about }), error }))
      }
      if (!isOver && everyMs !== undefined) timer = setTimeout(() => void run(), everyMs)
    }
    void run()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [about, turn, who, everyMs])
  const reload = useCallback(() => setTurn(before => before + 1), [])
  return state.about === about
    ? { value: state.value, error: state.error, reload }
    : { value: undefined, error: undefined, reload }
}
