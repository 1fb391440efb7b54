/**
 * The token that is sent with every request, if the server has rules. It is kept in this tab, and gone when the tab is closed.
 */
import { type ReadonlySignal, signal } from '@preact/signals'

const NAME = 'freshet-console-token'
const current = signal(sessionStorage.getItem(NAME) ?? '')
const asked = signal<Asked | undefined>(undefined)

let declinedFor: string | undefined

/** Why a token is asked for. */
export type Asked = 'missing' | 'refused' | 'not an admin' | 'wanted'

/** Empty if there is no token. */
export const token: ReadonlySignal<string> = current
/** Why the user is being asked for a token; undefined if not. */
export const tokenAsked: ReadonlySignal<Asked | undefined> = asked

export function setToken(text: string): void {
  const trimmed = text.trim().replace(/^Bearer\s+/i, '')
  if (trimmed === '') sessionStorage.removeItem(NAME)
  else sessionStorage.setItem(NAME, trimmed)
  asked.value = undefined
  declinedFor = undefined
  current.value = trimmed
}

/** Does not ask again if the user has just declined: pages keep sending requests to the server. */
export function askForToken(why: Asked): void {
  if (why === 'wanted' || declinedFor !== current.value) asked.value = why
}

/** The user does not want to enter a token now. */
export function declineToken(): void {
  declinedFor = current.value
  asked.value = undefined
}

export type Claims = Readonly<Record<string, unknown>>

/** The claims of a token, without checking its signature. Undefined if the text is not a token. */
export function claimsOf(text: string): Claims | undefined {
  const [, payload] = text.trim().split('.')
  if (payload === undefined) return undefined
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), each => each.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes)) as Claims
  } catch {
    return undefined
  }
}
