/** Nodes in this process that several servers have open at once: closing one leaves it open for the other servers. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '../../memory/index.js'
import type { QuorumNodeAddress } from '../open-quorum-store.js'

export function memoryNodes(count: number): readonly QuorumNodeAddress[] {
  return Array.from({ length: count }, (_, i) => sharedNode(`memory ${i + 1}`, createMemoryStore()))
}

export function sharedNode(place: string, store: Store): QuorumNodeAddress {
  return { place, open: async () => keptOpen(store) }
}

function keptOpen(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'close') return async () => {}
      const found: unknown = Reflect.get(target, name, target)
      return typeof found === 'function' ? found.bind(target) : found
    },
  })
}
