export type { Cascade, EntityClass, Hooks, Targets } from './declaration.js'
export {
  type EntityOptions,
  entity,
  type FieldsClass,
  type ReferenceFields,
  type TargetOf,
  type WithReferences,
} from './entity.js'
export {
  createEntityManager,
  type EntityManager,
  type EntityManagerOptions,
  type PersistOptions,
} from './entity-manager.js'
export { idOf, versionOf } from './entity-record.js'
export type { FlushOptions } from './entity-source.js'
export { Reference } from './reference.js'
