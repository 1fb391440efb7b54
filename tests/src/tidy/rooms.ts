/** Maps a path to its room and kind of file: everything that the rules know about the layout of the tree. */
export interface Room {
  readonly name: string
  /** The folder of its package.json, without a trailing slash. */
  readonly root: string
}

export function roomOf(path: string): Room | undefined {
  const match = /^(?:packages\/([^/]+)|(lab|site|tests))(?=\/)/.exec(path)
  return match ? { name: (match[1] ?? match[2])!, root: match[0] } : undefined
}

export const PURE_ROOMS: readonly string[] = ['bloom', 'protocol', 'core']
/** Folders as pure as those rooms, which import no other folder of their package. */
const PURE_FOLDERS = [
  'packages/shards/src/plan',
  'packages/cells/src/records',
  'packages/cells/src/health',
  'packages/dht/src/peer',
]

/** True if the file only decides, and leaves acting to others: no clock, no randomness, nothing from npm or Node. */
export function isPure(path: string): boolean {
  return PURE_ROOMS.includes(roomOf(path)?.name ?? '') || pureFolderOf(path) !== undefined
}

export function pureFolderOf(path: string): string | undefined {
  return PURE_FOLDERS.find(folder => path.startsWith(`${folder}/`))
}
