/**
 * The lifecycle of entities as a naive model: a server that is a map, and one manager whose objects are new, managed, removed or
 * detached. Written from the rules alone (docs/guides/entities.md), to run beside the real manager.
 */
export type State = 'new' | 'managed' | 'removed' | 'detached'

export interface ModelEntity {
  state: State
  id: string | undefined
  n: number
  /** The stored value when it was last read or written; version 0: absent. */
  base: { readonly version: number; readonly n: number | undefined }
}

export type Outcome =
  | { readonly entity: ModelEntity | undefined }
  | { readonly error: string; names?: ModelEntity[] }
  | boolean

const NOTHING = { version: 0, n: undefined }
const MISTAKE = { error: 'TypeError' }
const DONE = true

export class EntityModel {
  readonly stored: Map<string, { readonly version: number; readonly n: number }> = new Map()
  /** All objects that a program has ever obtained, in order. */
  readonly entities: ModelEntity[] = []
  readonly hooks: [string, ModelEntity][] = []
  readonly #context = new Map<string, ModelEntity>()
  readonly #locked = new Set<ModelEntity>()
  #lastVersion = 0
  #idsMade = 0

  create(n: number): ModelEntity {
    return this.#inHand({ state: 'new', id: undefined, n, base: NOTHING })
  }

  writeElsewhere(id: string, n: number | undefined): void {
    if (n === undefined) this.stored.delete(id)
    else this.stored.set(id, { version: ++this.#lastVersion, n })
  }

  persist(entity: ModelEntity, id: string): Outcome {
    if (entity.state === 'detached' || (entity.state !== 'new' && entity.id !== id)) return MISTAKE
    const there = this.#context.get(id)
    if (there && there !== entity && there.state === 'managed') return MISTAKE
    if (entity.state === 'new') {
      this.hooks.push(['beforePersist', entity])
      entity.base = there?.base ?? NOTHING
      if (there) this.#makeNew(there)
    }
    this.#manage(entity, id)
    return DONE
  }

  find(id: string): Outcome {
    const there = this.#context.get(id)
    if (there) return { entity: there.state === 'managed' ? there : undefined }
    const base = this.stored.get(id)
    if (base === undefined) return { entity: undefined }
    const entity = this.#inHand({ state: 'managed', id, n: base.n, base })
    this.hooks.push(['afterLoad', entity])
    this.#manage(entity, id)
    return { entity }
  }

  remove(entity: ModelEntity): Outcome {
    if (entity.state === 'detached') return MISTAKE
    if (entity.state === 'managed') {
      this.hooks.push(['beforeRemove', entity])
      entity.state = 'removed'
    }
    return DONE
  }

  merge(entity: ModelEntity): Outcome {
    if (entity.state === 'removed') return MISTAKE
    if (entity.state === 'managed') return { entity }
    const there = entity.id === undefined ? undefined : this.#context.get(entity.id)
    if (there?.state === 'removed') return MISTAKE
    if (there && there.base.version !== entity.base.version) return { error: 'VERSION_CONFLICT', names: [there] }
    if (there) {
      there.n = entity.n
      return { entity: there }
    }
    const copy = this.#inHand({ ...entity })
    if (entity.state === 'new') this.hooks.push(['beforePersist', copy])
    this.#manage(copy, entity.id ?? `made-${this.#idsMade++}`)
    return { entity: copy }
  }

  detach(entity: ModelEntity): Outcome {
    if (entity.state === 'new' || entity.state === 'detached') return DONE
    this.#context.delete(entity.id!)
    this.#locked.delete(entity)
    if (entity.base.version === 0) this.#makeNew(entity)
    else entity.state = 'detached'
    return DONE
  }

  clear(): Outcome {
    for (const entity of [...this.#context.values()]) this.detach(entity)
    return DONE
  }

  refresh(entity: ModelEntity): Outcome {
    if (entity.state !== 'managed') return MISTAKE
    const base = this.stored.get(entity.id!)
    if (base === undefined) return { error: 'OBJECT_NOT_FOUND' }
    Object.assign(entity, { base, n: base.n })
    this.hooks.push(['afterLoad', entity])
    return DONE
  }

  lock(entity: ModelEntity): Outcome {
    if (entity.state !== 'managed') return MISTAKE
    this.#locked.add(entity)
    return DONE
  }

  contains(entity: ModelEntity): Outcome {
    return entity.state === 'managed'
  }

  flush(): Outcome {
    const inContext = [...this.#context.values()]
    const written = inContext.filter(({ state, base, n }) => (state === 'removed' ? undefined : n) !== base.n)
    for (const entity of written) {
      if (entity.state === 'managed' && entity.base.n !== undefined) this.hooks.push(['beforeUpdate', entity])
    }
    const locked = [...this.#locked].filter(({ base }) => base.version !== 0)
    const names = [...new Set([...written, ...locked])].filter(
      ({ id, base }) => (this.stored.get(id!)?.version ?? 0) !== base.version,
    )
    if (names.length > 0) return { error: 'COMMIT_CONFLICT', names }
    const version = ++this.#lastVersion
    for (const entity of written) {
      if (entity.state === 'removed') this.stored.delete(entity.id!)
      else {
        entity.base = { version, n: entity.n }
        this.stored.set(entity.id!, { version, n: entity.n })
      }
    }
    for (const entity of inContext) if (entity.state === 'removed') this.#makeNew(entity)
    this.#locked.clear()
    return DONE
  }

  #inHand(entity: ModelEntity): ModelEntity {
    this.entities.push(entity)
    return entity
  }

  #manage(entity: ModelEntity, id: string): void {
    Object.assign(entity, { state: 'managed', id })
    this.#context.set(id, entity)
  }

  #makeNew(entity: ModelEntity): void {
    if (this.#context.get(entity.id!) === entity) this.#context.delete(entity.id!)
    this.#locked.delete(entity)
    Object.assign(entity, { state: 'new', id: undefined, base: NOTHING })
  }
}
