export {
  createFreshetServer,
  type FreshetServer,
  type FreshetServerOptions,
  type Listening,
  type ListenOptions,
} from './freshet-server.js'
export type { PageFile } from './operations/demo-page.js'
export { createJsonLog, type JsonLogOptions, type Log, type LogFields, type LogLevel } from './operations/log.js'
export { DEFAULT_SETTINGS, type ServerSettings } from './settings.js'
