export { EngineStore } from './engine-store.js'
