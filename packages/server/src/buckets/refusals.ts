/** Refusals that several routes share. */
import { FreshetError, type Key, type Position, pathOfKey, type Version } from '@freshet/protocol'

export function versionConflict(key: Key, version: Version): FreshetError {
  const path = pathOfKey(key)
  const state = version === 0 ? 'it is not there' : `its version is ${version}`
  return new FreshetError('VERSION_CONFLICT', `The condition on ${path} does not hold: ${state}. Read it again.`, {
    details: { path, version },
  })
}

export function matchRequired(key: Key): FreshetError {
  const path = pathOfKey(key)
  return new FreshetError(
    'PRECONDITION_REQUIRED',
    `${path} is in a bucket whose writes must say what they replace. Send If-Match with its ETag, or If-None-Match: * to create it.`,
    { details: { path } },
  )
}

export function tooMuchContention(): FreshetError {
  return new FreshetError('SERVER_BUSY', 'Others changed the same thing too often at the same time. Try again.', {
    details: { retryAfterS: 1 },
  })
}

/** `position`: of the state in which it was missing. Without it clients do not believe that. */
export function bucketNotFound(key: Key, position: Position): FreshetError {
  return new FreshetError('BUCKET_NOT_FOUND', `There is no bucket ${key}. It is created by the first write to it.`, {
    details: { position },
  })
}

/** `task`: the one that deletes it. */
export function bucketDeleting(key: Key, task: string): FreshetError {
  return new FreshetError(
    'BUCKET_DELETING',
    `The bucket ${key} is being deleted, so nothing can be written to it. Wait until GET /tasks/${task} says that it is done.`,
    { details: { task } },
  )
}
