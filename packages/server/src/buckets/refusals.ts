/** Refusals that several routes share. */
import { FreshetError, type Key, type Position, pathOfKey, type Version } from '@freshet/protocol'

export function versionConflict(key: Key, version: Version): FreshetError {
  const path = pathOfKey(key)
  const state = version === 0 ? 'it does not exist' : `its version is ${version}`
  return new FreshetError('VERSION_CONFLICT', `The condition on ${path} does not hold: ${state}. Read it again.`, {
    details: { path, version },
  })
}

export function matchRequired(key: Key): FreshetError {
  const path = pathOfKey(key)
  return new FreshetError(
    'PRECONDITION_REQUIRED',
    `${path} is in a bucket whose writes must name the version that they replace. Send If-Match with its ETag, or ` +
      'If-None-Match: * to create it.',
    { details: { path } },
  )
}

export function tooMuchContention(): FreshetError {
  return new FreshetError('SERVER_BUSY', 'Other clients kept changing the same data at the same time. Try again.', {
    details: { retryAfterS: 1 },
  })
}

/** `position`: of the state in which the bucket was missing. Without it, clients do not trust the answer. */
export function bucketNotFound(key: Key, position: Position): FreshetError {
  return new FreshetError('BUCKET_NOT_FOUND', `There is no bucket ${key}. It is created by the first write to it.`, {
    details: { position },
  })
}

/** `task`: the task that deletes the bucket. */
export function bucketDeleting(key: Key, task: string): FreshetError {
  return new FreshetError(
    'BUCKET_DELETING',
    `The bucket ${key} is being deleted, so nothing can be written to it. Wait until GET /tasks/${task} says that it is done.`,
    { details: { task } },
  )
}
