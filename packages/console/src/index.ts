export { type ConsoleFile, listConsoleFiles } from './console-files.js'
