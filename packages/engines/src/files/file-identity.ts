/**
 * Which file a path names, so that a restored copy is not mistaken for the file that it replaced. The inode alone does not
 * identify a file: a file system gives the number of a removed file to the next one. The time of birth does, where it is
 * known.
 */
import { type BigIntStats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export interface FileIdentity {
  /** `inode/time of birth`; the time is empty if it is not known. */
  readonly file: string
  /** When the file last changed, in nanoseconds. */
  readonly changedNs: string
}

type FileTimes = Pick<BigIntStats, 'ino' | 'birthtimeNs' | 'ctimeNs'>

export function identifyFile(path: string): FileIdentity {
  const folder = dirname(resolve(path))
  return identityOf(statFile(path), [statFile(folder), statFile(dirname(folder))])
}

/** The parent folders show whether the system knows times of birth: a file may be unchanged since its creation. */
export function identityOf(file: FileTimes, folders: readonly FileTimes[]): FileIdentity {
  const born = [file, ...folders].some(isBirthKnown) ? `${file.birthtimeNs}` : ''
  return { file: `${file.ino}/${born}`, changedNs: `${file.ctimeNs}` }
}

/** Node reports 0 for a time of birth that it does not know, or the time of the last change. */
function isBirthKnown({ birthtimeNs, ctimeNs }: FileTimes): boolean {
  return birthtimeNs !== 0n && birthtimeNs !== ctimeNs
}

/** Whether this is certainly another file than the one that was noted. False if either time of birth is unknown. */
export function isOtherFile(noted: string, found: string): boolean {
  const [before, after] = [noted, found].map(birthOf)
  return before !== undefined && after !== undefined && before !== after
}

function birthOf(file: string): string | undefined {
  const born = file.split('/')[1]
  return born === '' || born === '0' ? undefined : born
}

export function statFile(path: string): BigIntStats {
  return statSync(path, { bigint: true })
}
