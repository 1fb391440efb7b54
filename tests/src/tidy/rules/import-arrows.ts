/**
 * Imports between rooms point one way. The table is the map of the packages: each arrow added here adds a dependency to the
 * architecture.
 */
import { posix } from 'node:path'
import { type ImportFound, scanImports } from '@freshet/lab/dist/source-tree/scan-imports.js'
import { isCode, isTest, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { isPure, PURE_ROOMS, pureFolderOf, type Room, roomOf } from '../rooms.js'
import type { Finding } from '../rule.js'

const PACKAGES = [
  'bloom',
  'protocol',
  'core',
  'store',
  'engines',
  'dht',
  'cells',
  'shards',
  'server',
  'client',
  'console',
  'cli',
]

/** What each room may import; `core/clock` stands for that one export path of the package. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  bloom: [],
  protocol: [],
  core: ['bloom', 'protocol'],
  store: ['core', 'protocol'],
  engines: ['bloom', 'core', 'protocol', 'store'],
  dht: [],
  cells: ['core', 'dht', 'protocol', 'engines'],
  server: ['core', 'protocol'],
  shards: ['protocol', 'server/capabilities', 'client/requests'],
  client: ['bloom', 'protocol', 'core/coherence', 'core/history', 'core/queries', 'core/clock'],
  console: ['client'],
  cli: PACKAGES,
  create: ['cli'],
  lab: PACKAGES,
  site: PACKAGES,
  tests: [...PACKAGES, 'lab', 'site'],
}

/** What tests, and files under `under-test`, may import in addition: a server needs a store to be tested on. */
const ARROWS_OF_TESTS: Readonly<Record<string, readonly string[]>> = {
  server: ['engines'],
  shards: ['core', 'server', 'engines'],
}

const ALLOWED_IN_TESTS = /^(?:node:|(?:vitest|fast-check)(?:\/|$))/

/** Folders of core that every other folder of core may import. */
const CORE_SHARED = ['store']
/** What a folder of core may import in addition. */
const CORE_ARROWS: Readonly<Record<string, readonly string[]>> = { commit: ['counters', 'queries'] }
const CORE_FOLDER = /^packages\/core\/(?:src\/)?(?!src\/)([^/]+)\//
const THIS_FILE = 'tests/src/tidy/rules/import-arrows.ts'

export function importArrows(files: readonly SourceFile[]): Finding[] {
  return files.filter(file => isCode(file.path)).flatMap(file => checkFile(file))
}

function checkFile(file: SourceFile): Finding[] {
  const room = roomOf(file.path)
  if (room === undefined) return []
  return scanImports(file.text).flatMap(found => {
    const message = objection(file.path, room, found)
    return message === undefined ? [] : [{ path: file.path, line: found.line, message }]
  })
}

function objection(path: string, room: Room, { specifier }: ImportFound): string | undefined {
  const own = ARROWS[room.name]
  if (own === undefined) return `The room ${room.name} has no arrows. Say what it may import in ARROWS in ${THIS_FILE}.`
  const arrows =
    isTest(path) || path.includes('/under-test/')
      ? [...own, ...(ARROWS_OF_TESTS[room.name] ?? [])]
      : arrowsOf(path, own)
  if (specifier.startsWith('.')) return objectionToPath(room, path, specifier)
  if (specifier.startsWith('@freshet/')) return objectionToRoom(room, arrows, specifier)
  if (!isPure(path) || (isTest(path) && ALLOWED_IN_TESTS.test(specifier))) return undefined
  return (
    `${room.name} depends on nothing outside this repository, but imports '${specifier}'. ` +
    'Take what you need as an argument, or move this to the edge.'
  )
}

/** A pure folder of a room imports only pure rooms. */
function arrowsOf(path: string, own: readonly string[]): readonly string[] {
  return pureFolderOf(path) === undefined ? own : own.filter(arrow => PURE_ROOMS.includes(arrow.split('/')[0]!))
}

function objectionToPath(room: Room, path: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(path), specifier)
  if (!target.startsWith(`${room.root}/`)) {
    return `'${specifier}' leaves ${room.root}. Import the other package by name, '@freshet/...', as it exports it.`
  }
  const pure = pureFolderOf(path)
  if (pure !== undefined && !target.startsWith(`${pure}/`)) {
    return `'${specifier}' leaves ${pure}, which is pure. Take the value as an argument, or move the code that it needs into that folder.`
  }
  const from = CORE_FOLDER.exec(path)?.[1]
  const to = CORE_FOLDER.exec(target)?.[1]
  if (from === undefined || to === undefined || from === to) return undefined
  const arrows = [...CORE_SHARED, ...(CORE_ARROWS[from] ?? [])]
  if (arrows.includes(to)) return undefined
  return (
    `core/${from} may not import core/${to}: it may only import ${arrows.join(', ')}. ` +
    `Take the value as an argument, or declare the arrow in CORE_ARROWS in ${THIS_FILE}.`
  )
}

function objectionToRoom(room: Room, arrows: readonly string[], specifier: string): string | undefined {
  const target = specifier.slice('@freshet/'.length)
  const isOpen = [room.name, ...arrows].some(arrow => target === arrow || target.startsWith(`${arrow}/`))
  if (isOpen) return undefined
  const list = arrows.length === 0 ? 'no other room' : `only ${arrows.join(', ')}`
  return (
    `${room.name} may import ${list}, but imports '${specifier}'. Take the value as an argument, ` +
    `move this code to a room that may, or change ARROWS in ${THIS_FILE}.`
  )
}
