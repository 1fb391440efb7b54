/** The last global write to each table that a session has seen. It only grows. */
import { FreshetError, type SqlVersions } from '@freshet/protocol'

export class VersionFloors {
  readonly #floors: Map<string, number>

  constructor(floors: SqlVersions) {
    this.#floors = new Map(Object.entries(floors))
  }

  raise(versions: SqlVersions): void {
    for (const [table, version] of Object.entries(versions)) {
      this.#floors.set(table, Math.max(version, this.#floors.get(table) ?? 0))
    }
  }

  of(table: string): number {
    return this.#floors.get(table) ?? 0
  }

  /** The position at which a result with these versions must be requested again; 0 if it is not behind. */
  neededFor(versions: SqlVersions): number {
    const floors = Object.entries(versions).map(([table, version]) => {
      const floor = this.#floors.get(table) ?? 0
      return version < floor ? floor : 0
    })
    return Math.max(0, ...floors)
  }

  get token(): string {
    return JSON.stringify(Object.fromEntries(this.#floors))
  }
}

/** Throws TOKEN_INVALID. */
export function parseToken(token: string): SqlVersions {
  try {
    const floors = JSON.parse(token) as SqlVersions
    if (typeof floors === 'object' && floors !== null && Object.values(floors).every(Number.isSafeInteger))
      return floors
  } catch {
    // Not JSON: refused below.
  }
  throw new FreshetError(
    'TOKEN_INVALID',
    'This is not a token of a session over shards. Use the `token` of such a session.',
  )
}
