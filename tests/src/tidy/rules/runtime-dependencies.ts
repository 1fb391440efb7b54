/** The pure rooms run on nothing but the language: their package.json lists no package from outside this repository. */
import { lineAt, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { roomOf } from '../rooms.js'
import type { Finding } from '../rule.js'

const FREE_ROOMS = ['bloom', 'protocol', 'core']
const RUN_TIME_FIELDS = ['dependencies', 'peerDependencies', 'optionalDependencies'] as const

type Manifest = Partial<Record<(typeof RUN_TIME_FIELDS)[number], Record<string, string>>>

export function runtimeDependencies(files: readonly SourceFile[]): Finding[] {
  return files.filter(file => isFreeManifest(file.path)).flatMap(file => checkManifest(file))
}

function isFreeManifest(path: string): boolean {
  const room = roomOf(path)
  return room !== undefined && FREE_ROOMS.includes(room.name) && path === `${room.root}/package.json`
}

function checkManifest(file: SourceFile): Finding[] {
  const manifest = JSON.parse(file.text) as Manifest
  return RUN_TIME_FIELDS.flatMap(field =>
    Object.keys(manifest[field] ?? {})
      .filter(name => !name.startsWith('@freshet/'))
      .map(name => ({
        path: file.path,
        line: lineAt(file.text, file.text.indexOf(`"${name}"`)),
        message:
          `${name} is a run-time dependency (${field}) of a room that has none. ` +
          'Move it to devDependencies, or the code that needs it to another room.',
      })),
  )
}
