/**
 * Sends a token with every request; loaded only when there is one. What comes back that is not for everybody is `no-store`, so neither
 * this process nor a browser keeps it, and a new token cannot be shown what an old one saw.
 *
 * The token goes where the connection goes and nowhere else: every address is made of the one given to `connect`, and `fetch` itself
 * takes the header off when it is led to another origin.
 */
import type { Fetch } from './transport.js'

/** A token, or what gets one: called first, and again after it was refused. */
export type Authorization = string | (() => string | Promise<string>)

export function withAuthorization(fetch: Fetch, authorization: Authorization): Fetch {
  let current: Promise<string> | undefined
  const get = async () => (typeof authorization === 'string' ? authorization : authorization())
  const send = async (url: string, init: RequestInit, asked: Promise<string>) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${await asked}`)
    return fetch(url, { ...init, headers })
  }
  /** One that was not got is asked for again. */
  const renew = () => {
    const asked = get()
    current = asked
    asked.catch(() => {
      if (current === asked) current = undefined
    })
    return asked
  }
  return async (url, init) => {
    const asked = current ?? renew()
    const response = await send(url, init, asked)
    if (response.status !== 401 || typeof authorization === 'string') return response
    await response.body?.cancel()
    // Somebody else may have got a new one meanwhile.
    return send(url, init, current === asked || current === undefined ? renew() : current)
  }
}
