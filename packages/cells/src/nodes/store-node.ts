/** A store as a node. Closing the node closes the store. */
import type { Key, ReadVersion, Store, Version } from '@freshet/core/store'
import type { Node, NodePage, NodeRange, NodeValue, NodeWrite } from './node.js'

const RECORD_TYPE = 'application/json'

export function createStoreNode(store: Store): Node {
  return new StoreNode(store)
}

class StoreNode implements Node {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  async read(keys: readonly Key[]): Promise<readonly (NodeValue | undefined)[]> {
    return (await this.#store.getMany(keys)).value
  }

  async write({ key, body }: NodeWrite, holds: readonly ReadVersion[]): Promise<Version | undefined> {
    const write = body === undefined ? ({ key, delete: true } as const) : { key, contentType: RECORD_TYPE, body }
    const result = await this.#store.commit({ reads: holds, writes: [write] })
    return result.committed ? result.position : undefined
  }

  scan(bucket: Key, range: NodeRange): Promise<NodePage> {
    return this.#store.scan(bucket, range)
  }

  async buckets(): Promise<readonly Key[]> {
    return (await this.#store.buckets()).map(({ bucket }) => bucket)
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}
