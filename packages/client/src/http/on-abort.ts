/**
 * Many operations may wait for one signal: a page's, or the connection's. If each added its own listener, Node would suspect a
 * leak after ten. So a signal gets one listener, and the callbacks are kept here.
 */
const callbacks = new WeakMap<AbortSignal, Waiting>()

interface Waiting {
  readonly all: Set<() => void>
  readonly listener: () => void
}

/** Calls back when the signal is aborted; at once if it already is. Returns a function that stops waiting. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback()
    return () => {}
  }
  const waiting = callbacks.get(signal) ?? listen(signal)
  // A function of its own, since the same callback may be given twice.
  const call = () => callback()
  waiting.all.add(call)
  return () => {
    waiting.all.delete(call)
    if (waiting.all.size > 0 || callbacks.get(signal) !== waiting) return
    callbacks.delete(signal)
    signal.removeEventListener('abort', waiting.listener)
  }
}

function listen(signal: AbortSignal): Waiting {
  const all = new Set<() => void>()
  const listener = () => {
    callbacks.delete(signal)
    for (const call of [...all]) call()
  }
  const waiting = { all, listener }
  callbacks.set(signal, waiting)
  signal.addEventListener('abort', listener, { once: true })
  return waiting
}
