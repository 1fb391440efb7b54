/** For tests: stores that behave in ways that a store may, but the one in memory does not. */
import type { Store, Write } from '@freshet/core/store'

const MAY_BE_LATE = new Set(['get', 'position', 'changes', 'trimmedTo', 'recall'])

export function answeringLater(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (!MAY_BE_LATE.has(String(name))) return member.bind(target)
      return async (...args: unknown[]) => {
        await new Promise(resolve => setImmediate(resolve))
        return member.apply(target, args)
      }
    },
  })
}

/** A store with some methods replaced. Its other methods run on the store itself. */
export function withMethods(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(Object.hasOwn(methods, name) ? methods : target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** A store that never notifies of a commit, as if another process had made it. */
export function tellingNothing(store: Store): Store {
  return withMethods(store, { onCommit: () => () => undefined })
}

/** A store to which another client commits `write` just before the first commit to `key`. */
export function interruptedAt(store: Store, key: string | RegExp, write: Write): Store {
  const isMeant = (own: Write) => (typeof key === 'string' ? own.key === key : key.test(own.key))
  let isDone = false
  return withMethods(store, {
    commit: async commit => {
      if (!isDone && commit.writes.some(isMeant)) {
        isDone = true
        await store.commit({ writes: [write] })
      }
      return store.commit(commit)
    },
  })
}
