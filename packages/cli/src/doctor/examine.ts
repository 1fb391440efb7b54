/** Runs every probe and collects their findings. */
import type { IncomingHttpHeaders } from 'node:http'
import { type Advice, adviceFor } from './advice.js'
import { type AdvisedCache, type CacheSeen, cachesSeenIn } from './cache-names.js'
import { passesEvents, passesSegments, servesClients } from './probes/coherence.js'
import { EFFECTS, type Effect, type Finding, type Probe } from './probes/finding.js'
import { leavesEtags, leavesPositions } from './probes/headers.js'
import {
  doesNotGoBack,
  keepsCopies,
  keepsFormsApart,
  keepsPermissionsApart,
  sharesCopiesAt,
  tellsQueriesApart,
} from './probes/keys.js'
import { endsLifetimes, keepsNoErrors, keepsNoHead, leavesLifetimes, tellsAges } from './probes/lifetimes.js'
import { purgesOnRequest, purgesWhatIsOnItsWay, refusesStrangers } from './probes/purges.js'
import { doesNotJoin, dropsWhatIsWritten, honoursWishes, leavesConditions } from './probes/requests.js'
import type { Scene } from './probes/scene.js'

export const PROBES: readonly Probe[] = [
  keepsCopies,
  tellsQueriesApart,
  sharesCopiesAt,
  keepsFormsApart,
  keepsPermissionsApart,
  endsLifetimes,
  leavesLifetimes,
  tellsAges,
  keepsNoErrors,
  keepsNoHead,
  leavesEtags,
  leavesPositions,
  leavesConditions,
  honoursWishes,
  doesNotJoin,
  dropsWhatIsWritten,
  doesNotGoBack,
  refusesStrangers,
  purgesOnRequest,
  purgesWhatIsOnItsWay,
  passesSegments,
  passesEvents,
  servesClients,
]

/** These probes mostly wait, so they run alongside the others. */
const MEANWHILE: readonly Probe[] = [
  tellsQueriesApart,
  endsLifetimes,
  tellsAges,
  keepsNoErrors,
  doesNotJoin,
  passesSegments,
  passesEvents,
]
/** These probes need to be the only writers. */
const AT_THE_END: readonly Probe[] = [purgesWhatIsOnItsWay, servesClients]

export interface Advised extends Finding {
  readonly advice: readonly Advice[]
}

export interface Examination {
  readonly caches: readonly CacheSeen[]
  /** Worst first. */
  readonly findings: readonly Advised[]
}

const ALL_ADVISED: readonly AdvisedCache[] = ['varnish', 'squid', 'nginx']

export async function examine(scene: Scene, onFound: (finding: Finding) => void): Promise<Examination> {
  const headers = await headersOfCopy(scene)
  const run = async (probe: Probe) => {
    const finding = await examineOne(probe, scene)
    onFound(finding)
    return finding
  }
  const findings: Finding[] = []
  const meanwhile = MEANWHILE.map(run)
  // Attached at once, so that a probe that is stopped causes no unhandled rejection.
  const settled = Promise.allSettled(meanwhile)
  try {
    const quick = PROBES.filter(probe => !MEANWHILE.includes(probe) && !AT_THE_END.includes(probe))
    for (const probe of quick) findings.push(await run(probe))
  } finally {
    // Also when stopped: no probe may write once the objects are being removed.
    await settled
  }
  findings.push(...(await Promise.all(meanwhile)))
  for (const probe of AT_THE_END) findings.push(await run(probe))
  const caches = cachesSeenIn(headers)
  const known = caches.map(({ kind }) => kind).filter(kind => kind !== undefined)
  return { caches, findings: inOrder(findings).map(found => withAdvice(found, known.length > 0 ? known : ALL_ADVISED)) }
}

/** Caches add more headers to answers from a copy. */
async function headersOfCopy({ objects }: Scene): Promise<IncomingHttpHeaders> {
  const object = await objects.create('headers')
  await objects.read(object)
  return (await objects.read(object)).headers
}

async function examineOne({ fact, claim, examine }: Probe, scene: Scene): Promise<Finding> {
  try {
    return { fact, claim, ...(await examine(scene)) }
  } catch (error) {
    scene.throwIfStopped()
    return { fact, claim, effect: 'undecided', saw: `The test failed: ${(error as Error).message}` }
  }
}

function inOrder(findings: readonly Finding[]): readonly Finding[] {
  const place = ({ fact }: Finding) => PROBES.findIndex(probe => probe.fact === fact)
  return [...findings].sort((a, b) => EFFECTS.indexOf(a.effect) - EFFECTS.indexOf(b.effect) || place(a) - place(b))
}

function withAdvice(finding: Finding, caches: readonly AdvisedCache[]): Advised {
  const isWell = finding.effect === 'good' || finding.effect === 'undecided'
  return { ...finding, advice: isWell ? [] : adviceFor(finding.adviceOf ?? finding.fact, caches) }
}

export function countOf(findings: readonly Finding[]): Readonly<Record<Effect, number>> {
  const counts = { fatal: 0, unsafe: 0, slower: 0, harmless: 0, undecided: 0, good: 0 }
  for (const { effect } of findings) counts[effect]++
  return counts
}
