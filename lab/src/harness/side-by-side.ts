/**
 * Measures contenders side by side: every contender once per round, the order rotated from round to round, a warm-up
 * round thrown away. Then the finalists run alone, in many more rounds, so that the result rests on enough of them.
 *
 * The result is a ratio: the median of the ratios within each round, so that a slow spell of the machine hits both sides
 * and cancels out. The nanoseconds are for information.
 *
 * Each contender belongs in its own process (`child-contender.ts`, `browser-contender.ts`). In one process they
 * would share V8's type feedback: a loop or library function that has seen two contenders runs slower for the second.
 */

/** Nanoseconds per operation, for each measure. */
export type Readings<Measure extends string> = Readonly<Record<Measure, number>>

export interface Contender<Measure extends string> {
  readonly name: string
  /** Runs every measure once. */
  round(): Promise<Readings<Measure>>
}

export interface Standing<Measure extends string> {
  readonly name: string
  readonly medians: Readings<Measure>
  /** What it measured in each round; undefined in rounds that it did not take part in. */
  readonly rounds: readonly (Readings<Measure> | undefined)[]
}

export interface SideBySideOptions<Measure extends string> {
  readonly contenders: readonly Contender<Measure>[]
  readonly measures: readonly Measure[]
  /** Rounds that count; the warm-up comes on top. */
  readonly rounds: number
  /** Picks the finalists by the rounds so far, and sets the number of further rounds. */
  readonly final?: { readonly rounds: number; finalists(standings: readonly Standing<Measure>[]): readonly string[] }
  readonly onTurn?: (done: number, total: number, name: string) => void
}

const WARM_UP_ROUNDS = 1

export async function measureSideBySide<Measure extends string>(
  options: SideBySideOptions<Measure>,
): Promise<Standing<Measure>[]> {
  const { contenders, final } = options
  const rounds: Round<Measure>[] = []
  await runRounds({ ...options, rounds: options.rounds + WARM_UP_ROUNDS }, rounds)
  rounds.splice(0, WARM_UP_ROUNDS)
  const standings = () => contenders.map(({ name }) => toStanding(name, rounds, options.measures))
  if (final) {
    const finalists = final.finalists(standings())
    const inFinal = contenders.filter(({ name }) => finalists.includes(name))
    await runRounds({ ...options, contenders: inFinal, rounds: final.rounds }, rounds)
  }
  return standings()
}

type Round<Measure extends string> = ReadonlyMap<string, Readings<Measure>>

async function runRounds<Measure extends string>(
  { contenders, rounds, onTurn }: SideBySideOptions<Measure>,
  into: Round<Measure>[],
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const readings = new Map<string, Readings<Measure>>()
    for (const [turn, contender] of rotate(contenders, round).entries()) {
      onTurn?.(round * contenders.length + turn, rounds * contenders.length, contender.name)
      readings.set(contender.name, await contender.round())
    }
    into.push(readings)
  }
}

/** How many times faster `name` is than `peer`, over the rounds that both took part in: above 1 it is faster. */
export function speedRatio<Measure extends string>(
  standings: readonly Standing<Measure>[],
  name: string,
  peer: string,
  measure: Measure,
): number {
  const own = standingOf(standings, name).rounds
  const ratios = standingOf(standings, peer).rounds.flatMap((theirs, round) => {
    const ours = own[round]
    return theirs && ours ? [theirs[measure] / ours[measure]] : []
  })
  return median(ratios)
}

/** The fastest of `peers` at one measure. */
export function fastest<Measure extends string>(
  standings: readonly Standing<Measure>[],
  peers: readonly string[],
  measure: Measure,
): string {
  const medianOf = (name: string) => standingOf(standings, name).medians[measure]
  const ranked = [...peers].sort((a, b) => medianOf(a) - medianOf(b))
  if (ranked[0] === undefined) throw new TypeError('There is no peer to compare with.')
  return ranked[0]
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function standingOf<Measure extends string>(standings: readonly Standing<Measure>[], name: string): Standing<Measure> {
  const standing = standings.find(candidate => candidate.name === name)
  if (!standing) throw new TypeError(`There is no contender named ${name}.`)
  return standing
}

function toStanding<Measure extends string>(
  name: string,
  rounds: readonly Round<Measure>[],
  measures: readonly Measure[],
): Standing<Measure> {
  const own = rounds.map(round => round.get(name))
  const read = own.filter(readings => readings !== undefined)
  const medians = measures.map(measure => [measure, median(read.map(readings => readings[measure]))])
  return { name, medians: Object.fromEntries(medians) as Readings<Measure>, rounds: own }
}

function rotate<Item>(items: readonly Item[], by: number): Item[] {
  const start = by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}
