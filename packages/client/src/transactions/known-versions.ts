/**
 * The versions that a session's transactions learned from their commits: those that their own writes, and those of other
 * clients, have made. Classic transactions read whatever a cache has, and a copy that had one refused may stay in a cache for
 * long: so a copy that is older than a known version is read again, or the next attempt would be refused like the last.
 */
import type { Session } from '@freshet/core/coherence'
import type { Path, Version } from '@freshet/protocol'
import { RecentMap } from '../reading/recent-map.js'

/** The oldest are forgotten; each costs at most one more refusal. */
const PATHS_MAX = 10_000

const ofSession = new WeakMap<Session, KnownVersions>()

export function knownVersionsOf(session: Session): KnownVersions {
  const known = ofSession.get(session)
  if (known) return known
  const versions = new KnownVersions()
  ofSession.set(session, versions)
  return versions
}

export class KnownVersions {
  readonly #versions = new RecentMap<Path, Version>(PATHS_MAX)

  /** Version 0: the object was absent. */
  note(path: Path, version: Version): void {
    this.#versions.set(path, version)
  }

  /** Whether a copy of this version is older than the known one. An absence has no order, so the copy is read again. */
  isOutdated(path: Path, version: Version): boolean {
    const known = this.#versions.get(path)
    return known !== undefined && (known === 0 ? version !== 0 : version < known)
  }
}
