/**
 * What a session's transactions were told at their commits: the versions that others', and their own, writes have made. Classic
 * transactions read whatever a cache has, and what had them refused once may lie in a cache for long: so what is older than was
 * told is read again, or the next attempt would be refused like the last.
 */
import type { Session } from '@freshet/core/coherence'
import type { Path, Version } from '@freshet/protocol'
import { RecentMap } from '../reading/recent-map.js'

/** The oldest are forgotten; that costs one more refusal. */
const PATHS_MAX = 10_000

const ofSession = new WeakMap<Session, ToldVersions>()

export function toldVersionsOf(session: Session): ToldVersions {
  const known = ofSession.get(session)
  if (known) return known
  const told = new ToldVersions()
  ofSession.set(session, told)
  return told
}

export class ToldVersions {
  readonly #versions = new RecentMap<Path, Version>(PATHS_MAX)

  /** Version 0: it was not there. */
  note(path: Path, version: Version): void {
    this.#versions.set(path, version)
  }

  /** Whether a copy of this version is older than what was told. That something was gone has no order: ask again. */
  isOutdated(path: Path, version: Version): boolean {
    const told = this.#versions.get(path)
    return told !== undefined && (told === 0 ? version !== 0 : version < told)
  }
}
