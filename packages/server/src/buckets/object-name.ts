/** The names of objects and buckets, from the segments of a route. */
import { checkId, checkName, type FreshetError, type Key } from '@freshet/protocol'
import { overLimit } from '../settings/limits.js'

export interface ObjectName {
  readonly id: string
  readonly bucket: Key
  readonly key: Key
}

/** Throws NAME_INVALID. */
export function objectNameOf(
  [namespace = '', bucket = '', id = '']: readonly string[],
  idBytesMax: number,
): ObjectName {
  return objectIn(bucketNameOf([namespace, bucket]), id, idBytesMax)
}

/** Throws NAME_INVALID. */
export function bucketNameOf([namespace = '', bucket = '']: readonly string[]): Key {
  checkName('namespace', namespace)
  checkName('bucket', bucket)
  return `${namespace}/${bucket}`
}

/** Throws NAME_INVALID. */
export function objectIn(bucket: Key, id: string, idBytesMax: number): ObjectName {
  checkId(id)
  if (id.length * 3 > idBytesMax && Buffer.byteLength(id) > idBytesMax) throw tooLong(id, idBytesMax)
  return { id, bucket, key: `${bucket}/${id}` }
}

function tooLong(id: string, idBytesMax: number): FreshetError {
  return overLimit({
    code: 'NAME_INVALID',
    limit: 'idBytesMax',
    what: `The id has ${Buffer.byteLength(id)} bytes, more than the ${idBytesMax} bytes that this server accepts.`,
    instead: 'Choose a shorter one',
    details: { idBytesMax },
  })
}
