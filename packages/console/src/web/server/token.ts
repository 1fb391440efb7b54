/** The token that is sent with every request, where the server has rules. It stays in this tab, and is gone with it. */
import { type ReadonlySignal, signal } from '@preact/signals'

const NAME = 'freshet-console-token'
const current = signal(sessionStorage.getItem(NAME) ?? '')
const asked = signal<Asked | undefined>(undefined)

let declinedFor: string | undefined

/** Why a token is asked for. */
export type Asked = 'missing' | 'refused' | 'not an admin' | 'wanted'

/** Empty: none. */
export const token: ReadonlySignal<string> = current
/** Whether somebody is being asked for one. */
export const tokenAsked: ReadonlySignal<Asked | undefined> = asked

export function setToken(text: string): void {
  const trimmed = text.trim().replace(/^Bearer\s+/i, '')
  if (trimmed === '') sessionStorage.removeItem(NAME)
  else sessionStorage.setItem(NAME, trimmed)
  asked.value = undefined
  declinedFor = undefined
  current.value = trimmed
}

/** Not again, if somebody has just said no: pages go on asking the server. */
export function askForToken(why: Asked): void {
  if (why === 'wanted' || declinedFor !== current.value) asked.value = why
}

/** They do not want to give one now. */
export function declineToken(): void {
  declinedFor = current.value
  asked.value = undefined
}

export type Claims = Readonly<Record<string, unknown>>

/** What a token says; not whether it is to be believed. Undefined: it is none. */
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
