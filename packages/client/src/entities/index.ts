export {
  type Cascade,
  type EntityClass,
  type EntityOptions,
  entity,
  type FieldsClass,
  type Hooks,
  type ReferenceFields,
  type TargetOf,
  type Targets,
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
