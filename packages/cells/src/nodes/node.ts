/**
 * What a node of the layout must do: keep records under keys, and change a record only if it is still as it was read. Every
 * `Store` that commits several keys at once can be a node (`store-node.ts`), and so can another Freshet server (`http-node.ts`).
 *
 * A node decides nothing. What it acknowledges must be on disk: a node that forgets breaks promises that others have relied on.
 * Methods reject if the node does not answer, or refuses; a rejected `write` may nevertheless have been done.
 */
import type { Key, ReadVersion, Version } from '@freshet/core/store'
import type { IdRange } from '@freshet/protocol'

export interface NodeValue {
  readonly version: Version
  readonly body: Uint8Array
}

export interface NodeEntry extends NodeValue {
  readonly id: string
}

export interface NodePage {
  readonly entries: readonly NodeEntry[]
  /** Pass it as `after` to get the next page; undefined when the bucket is exhausted. */
  readonly next?: string
}

export interface NodeRange extends IdRange {
  readonly limit: number
}

export interface NodeWrite {
  readonly key: Key
  /** The text of a JSON object; undefined deletes the record. */
  readonly body: Uint8Array | undefined
}

export interface Node {
  /** The last key is read last: if its record is unchanged, the node had not lost its data when the others were read. */
  read(keys: readonly Key[]): Promise<readonly (NodeValue | undefined)[]>
  /** Writes only if all these versions hold; 0 means absent. Returns the version written, or undefined if one does not hold. */
  write(write: NodeWrite, holds: readonly ReadVersion[]): Promise<Version | undefined>
  /** In ascending order of ids, by UTF-8 bytes. */
  scan(bucket: Key, range: NodeRange): Promise<NodePage>
  buckets(): Promise<readonly Key[]>
  close(): Promise<void>
}
