/** What coordinators ask each other: only the one that holds a key can say which timestamp is its last, and give the next. */
import type { Key } from '@freshet/core/store'
import type { CellValue, Stamp, WriteLevel } from '../records/index.js'
import type { CellRead } from './cell-reads.js'
import type { CellWritten } from './cell-writes.js'

/** `undefined` always means that the coordinator asked no longer holds the key, and has done nothing. */
export interface OtherCoordinators {
  /** Whether this holder can be asked, as far as is known: one that did not answer recently cannot. */
  canAsk(holder: string): boolean
  /** The other coordinators, as far as they are known. */
  coordinators(): readonly { readonly name: string; readonly isSuspected: boolean }[]
  /** The last timestamp committed, under this layout. */
  last(holder: string, key: Key, epoch: number): Promise<Stamp | undefined>
  /** Reads at CURRENT. */
  read(holder: string, key: Key): Promise<CellRead | undefined>
  /** After a failure the write may have been done, unless the details say `outcome: 'not-done'`. */
  write(holder: string, key: Key, value: CellValue | undefined, level: WriteLevel): Promise<CellWritten | undefined>
}

/** For a coordinator that can ask no others: it waits until they release their keys. */
export const NOBODY_ELSE: OtherCoordinators = {
  canAsk: () => false,
  coordinators: () => [],
  last: async () => undefined,
  read: async () => undefined,
  write: async () => undefined,
}
