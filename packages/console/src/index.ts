export { listConsoleFiles } from './console-files.js'
export { type LazyFile, lazyFile } from './lazy-file.js'
