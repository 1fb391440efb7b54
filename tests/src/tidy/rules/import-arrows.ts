/**
 * Imports between rooms point one way. The table is the map of the packages: whoever adds an arrow here adds a
 * dependency to the architecture.
 */
import { posix } from 'node:path'
import { isCode, isTest, type Room, roomOf } from '../rooms.js'
import type { Finding, SourceFile } from '../rule.js'
import { type ImportFound, scanImports } from '../scan/scan-imports.js'

const PACKAGES = ['bloom', 'protocol', 'core', 'stores', 'server', 'client', 'console', 'cli']

/** What each room may import; `core/clock` stands for that one door of the package. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  bloom: [],
  protocol: [],
  core: ['bloom', 'protocol'],
  stores: ['bloom', 'core', 'protocol'],
  server: ['core', 'protocol'],
  client: ['bloom', 'protocol', 'core/coherence', 'core/history', 'core/queries', 'core/clock'],
  console: ['client'],
  cli: PACKAGES,
  lab: PACKAGES,
  site: PACKAGES,
  tests: [...PACKAGES, 'lab', 'site'],
}

/** What tests may import besides: a server needs a store to be tested on. */
const ARROWS_OF_TESTS: Readonly<Record<string, readonly string[]>> = { server: ['stores'] }

/** Rooms that also import nothing from npm or Node. */
const SELF_CONTAINED = ['bloom', 'protocol', 'core']
const ALLOWED_IN_TESTS = /^(?:node:|(?:vitest|fast-check)(?:\/|$))/

/** Folders of core that every other folder of core may import. */
const CORE_SHARED = ['store']
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
  const arrows = isTest(path) ? [...own, ...(ARROWS_OF_TESTS[room.name] ?? [])] : own
  if (specifier.startsWith('.')) return objectionToPath(room, path, specifier)
  if (specifier.startsWith('@freshet/')) return objectionToRoom(room, arrows, specifier)
  if (!SELF_CONTAINED.includes(room.name) || (isTest(path) && ALLOWED_IN_TESTS.test(specifier))) return undefined
  return (
    `${room.name} depends on nothing outside this repository, but imports '${specifier}'. ` +
    'Take what you need as an argument, or move this to the edge.'
  )
}

function objectionToPath(room: Room, path: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(path), specifier)
  if (!target.startsWith(`${room.root}/`)) {
    return `'${specifier}' leaves ${room.root}. Import the other package by name, '@freshet/...', as it exports it.`
  }
  const from = CORE_FOLDER.exec(path)?.[1]
  const to = CORE_FOLDER.exec(target)?.[1]
  if (from === undefined || to === undefined || from === to || CORE_SHARED.includes(to)) return undefined
  return (
    `core/${from} may not import core/${to}: a capability only imports ${CORE_SHARED.join(', ')}. ` +
    `Take the value as an argument, or declare the arrow in CORE_SHARED in ${THIS_FILE}.`
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
