/** A node that is opened on first use, and again if that failed: so a layout can be opened while one of its nodes is away. */
import type { Key, ReadVersion, Version } from '@freshet/core/store'
import type { Node, NodePage, NodeRange, NodeValue, NodeWrite } from './node.js'

export function createLazyNode(open: () => Promise<Node>): Node {
  return new LazyNode(open)
}

class LazyNode implements Node {
  readonly #open: () => Promise<Node>
  #node: Promise<Node> | undefined

  constructor(open: () => Promise<Node>) {
    this.#open = open
  }

  async read(keys: readonly Key[]): Promise<readonly (NodeValue | undefined)[]> {
    return (await this.#opened()).read(keys)
  }

  async write(write: NodeWrite, holds: readonly ReadVersion[]): Promise<Version | undefined> {
    return (await this.#opened()).write(write, holds)
  }

  async scan(bucket: Key, range: NodeRange): Promise<NodePage> {
    return (await this.#opened()).scan(bucket, range)
  }

  async buckets(): Promise<readonly Key[]> {
    return (await this.#opened()).buckets()
  }

  async close(): Promise<void> {
    const node = await this.#node?.catch(() => undefined)
    await node?.close()
  }

  #opened(): Promise<Node> {
    this.#node ??= this.#open().catch(error => {
      this.#node = undefined
      throw error
    })
    return this.#node
  }
}
