/**
 * What a node of the layout must do: keep records under keys, and change one only if it is as it was read. Every `Store` that
 * commits several keys at once is one (`store-node.ts`), and so is a Freshet server elsewhere (`http-node.ts`).
 *
 * A node decides nothing. What it acknowledges must be on disk: a node that forgets breaks promises that others have relied on.
 * Methods reject when there is no answer, or a refusal; then `write` may have been done all the same.
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
  /** Pass it as `after` to go on; undefined when the bucket is exhausted. */
  readonly next?: string
}

export interface NodeRange extends IdRange {
  readonly limit: number
}

export interface NodeWrite {
  readonly key: Key
  /** Undefined: it is deleted. Else the text of a JSON object. */
  readonly body: Uint8Array | undefined
}

export interface Node {
  /** The last of them is read last: if it is as it was, the node had not lost its memory when the others were read. */
  read(keys: readonly Key[]): Promise<readonly (NodeValue | undefined)[]>
  /** Only if all these versions hold, 0 being "not there". The version of what was written; undefined if one does not. */
  write(write: NodeWrite, holds: readonly ReadVersion[]): Promise<Version | undefined>
  /** By ascending id in UTF-8 byte order. */
  scan(bucket: Key, range: NodeRange): Promise<NodePage>
  buckets(): Promise<readonly Key[]>
  close(): Promise<void>
}
