/**
 * A session as text, to hand on: base64url of JSON `[1, log, position, [path, position, path, position, ...]]`. It holds
 * no secret and grants nothing; a forged one only makes its bearer wait for positions that never come.
 */
import { FreshetError, type Path, type Position } from '@freshet/protocol'
import { fromBase64, toBase64 } from './base64.js'

export interface SessionToken {
  /** Undefined if the session never spoke to a server. */
  readonly log: string | undefined
  readonly position: Position
  readonly floors: readonly (readonly [Path, Position])[]
}

const FORMAT = 1

export function formatToken({ log, position, floors }: SessionToken): string {
  const json = JSON.stringify([FORMAT, log ?? '', position, floors.flat()])
  return toBase64(new TextEncoder().encode(json)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Throws TOKEN_INVALID. */
export function parseToken(token: string): SessionToken {
  const [format, log, position, flat] = parseJson(token)
  if (format !== FORMAT || typeof log !== 'string' || !isPosition(position) || !Array.isArray(flat)) throw invalid()
  const floors = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]] as const)
  if (flat.length % 2 !== 0 || !floors.every(isFloor)) throw invalid()
  return { log: log === '' ? undefined : log, position, floors }
}

function parseJson(token: string): readonly unknown[] {
  try {
    const bytes = fromBase64(String(token).replaceAll('-', '+').replaceAll('_', '/'))
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return Array.isArray(value) ? value : []
  } catch (cause) {
    throw invalid(cause)
  }
}

function isPosition(value: unknown): value is Position {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isFloor(pair: readonly [unknown, unknown]): pair is readonly [Path, Position] {
  return typeof pair[0] === 'string' && isPosition(pair[1])
}

function invalid(cause?: unknown): FreshetError {
  return new FreshetError(
    'TOKEN_INVALID',
    'This is not a session token, or it was cut short. Pass the unchanged `db.session.token` of another session, or none.',
    { cause },
  )
}
