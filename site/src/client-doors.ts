/** The import paths of the client: its own, and those that other packages add to it. */
import { type Door, readExports } from './read-exports.js'

export function clientDoors(packages: string): readonly Door[] {
  return [...readExports(packages, 'client', ['.', './entities']), ...readExports(packages, 'shards', ['./client'])]
}
