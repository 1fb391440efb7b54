/** Rules that are broken on purpose, one at a time, to see that the checks detect it. */

export const PLANTED_BUGS = {
  'forgotten promise': 'a node that crashes loses its last promise',
  'not taken over': 'values accepted in lower ballots are not recovered',
  'a minority': 'one node fewer than a majority is enough',
  'emptied voter': 'a node without memory votes as if it were new',
  'dropped and forgotten': 'a node does not know that it has dropped slots',
} as const
export type PlantedBug = keyof typeof PLANTED_BUGS
