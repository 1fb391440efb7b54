/** What coordinators ask each other: only the one that holds a key can say which timestamp is its last, and give the next. */
import type { Key } from '@freshet/core/store'
import type { CellValue, Stamp, WriteLevel } from '../records/index.js'
import type { CellRead } from './cell-reads.js'
import type { CellWritten } from './cell-writes.js'

/** `undefined` always means that the one who was asked does not hold the key any more, and has done nothing. */
export interface OtherCoordinators {
  /** Whether it can be asked, as far as is known: somebody who did not answer lately cannot. */
  canAsk(holder: string): boolean
  /** The other coordinators, as far as they are known. */
  coordinators(): readonly { readonly name: string; readonly isSuspected: boolean }[]
  /** The last timestamp that was committed, under this layout. */
  last(holder: string, key: Key, epoch: number): Promise<Stamp | undefined>
  /** At CURRENT. */
  read(holder: string, key: Key): Promise<CellRead | undefined>
  /** A failure leaves open whether it was done, unless its details say `outcome: 'not-done'`. */
  write(holder: string, key: Key, value: CellValue | undefined, level: WriteLevel): Promise<CellWritten | undefined>
}

/** Who has nobody to ask waits until others give up their keys. */
export const NOBODY_ELSE: OtherCoordinators = {
  canAsk: () => false,
  coordinators: () => [],
  last: async () => undefined,
  read: async () => undefined,
  write: async () => undefined,
}
