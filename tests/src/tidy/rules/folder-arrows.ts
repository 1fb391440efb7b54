/**
 * The folders of a package import each other one way only, so that each can be read, tested and replaced without those above it.
 * LAYERS is the map of the folders inside packages. In packages that are not in it, only cycles are reported.
 */
import { folderCycles, folderGraph } from '@freshet/lab/dist/source-tree/folder-cycles.js'
import type { SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import type { Finding } from '../rule.js'

/** The layers of each package, the lowest first: a folder may import folders in layers below its own. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  bloom: ['hashing', 'plain', 'counting windowed', 'wire'],
  cells: ['health layout nodes records', 'coordinator'],
  cli: [
    ...['config page transfer', 'terminal', 'bench init places ring shards'],
    ...['access backup copy doctor drop export gen migrate tables', 'import restore serve', 'check', 'command'],
  ],
  client: [
    ...['clock http json', 'operations recording', 'session', 'reading', 'queries writing', 'buckets'],
    ...['counters transactions', 'entities'],
  ],
  dht: ['peer', 'tcp'],
  engines: ['files log sql', 'cassandra lmdb mariadb memory postgres quorum redis sqlite', 'redis-filter replicas'],
  server: [
    ...['invalidation monitoring recording settings', 'http json', 'access schemas', 'buckets idempotency routing'],
    ...['coherence', 'background writing', 'api'],
  ],
  shards: ['client plan', 'engines parse placement', 'arbitrator', 'coordinator', 'routes'],
  store: ['clock engine records', 'indexes', 'commits reads', 'database'],
}
const FOLDER = /^packages\/([^/]+)\/src\/([^/]+)$/
const THIS_FILE = 'tests/src/tidy/rules/folder-arrows.ts'

export function folderArrows(files: readonly SourceFile[]): Finding[] {
  return [...arrowsUpwards(files), ...circles(files)]
}

function arrowsUpwards(files: readonly SourceFile[]): Finding[] {
  return [...folderGraph(files)].flatMap(([from, targets]) => {
    const place = placeOf(from)
    if (place === undefined) return []
    if (place.layer === -1)
      return [{ path: from, message: `This folder is in no layer. Place it in LAYERS in ${THIS_FILE}.` }]
    return [...targets].filter(to => !isBelow(to, place.layer)).map(to => ({ path: from, message: upwards(to) }))
  })
}

function isBelow(folder: string, layerMax: number): boolean {
  const { layer } = placeOf(folder)!
  return layer !== -1 && layer < layerMax
}

function upwards(to: string): string {
  return (
    `It imports ${shortened(to)}, which is not in a layer below it. Take the value as an argument, move the code, ` +
    `or change LAYERS in ${THIS_FILE}.`
  )
}

/** The layer of the folder, -1 if it is in none; undefined for a folder within a folder, and in a package without a map. */
function placeOf(folder: string): { readonly layer: number } | undefined {
  const [, room, name] = FOLDER.exec(folder) ?? []
  const layers = LAYERS[room ?? '']
  return layers && { layer: layers.findIndex(layer => layer.split(' ').includes(name!)) }
}

function circles(files: readonly SourceFile[]): Finding[] {
  return folderCycles(files).map(folders => ({
    path: folders[0]!,
    message:
      `These folders import each other in a circle: ${folders.map(shortened).join(', ')}. ` +
      'Move what both sides need into a folder below them, or take it as an argument.',
  }))
}

function shortened(folder: string): string {
  return folder.replace(/^packages\//, '').replace('/src/', '/')
}
