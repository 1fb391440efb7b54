/** How long copies are kept, whether forbidden copies are kept, and whether copies report their age. */
import { randomBytes } from 'node:crypto'
import type { Position } from '@freshet/protocol'
import { fatal, good, harmless, NOTHING_KEPT, type Outcome, type Probe, slower } from './finding.js'
import { headerOf } from './http-probe.js'
import { BRIEF_LIFETIME_S, isOutdated, jsonOf, LIFETIME_S, type ProbeObject, requestIdOf } from './probe-objects.js'
import type { Scene } from './scene.js'

/** Caches count in whole seconds. */
const ROUNDING_MS = 1500
/** The slack that the server allows for by default (slackMs). */
const SLACK_S = 15

/** The consequence of copies that outlive the window of the sketch: clients detect them by their position, if it arrives. */
async function tooLong(scene: Scene): Promise<Pick<Outcome, 'effect' | 'means'>> {
  if (await scene.tellsPosition()) {
    return {
      effect: 'slower',
      means:
        'Freshet clients detect such copies by their Freshet-Position and fetch again. All other readers (curl, other ' +
        'languages) are served stale data.',
    }
  }
  return {
    effect: 'fatal',
    means:
      'Fatal: Freshet-Position gets lost as well. Freshet clients cannot distinguish such a copy from a current one and fail ' +
      'with CACHE_UNTRUSTWORTHY; all other readers are served stale data.',
  }
}

export const endsLifetimes: Probe = {
  fact: 'expiry',
  claim: 'no copy is served after its lifetime',
  examine: async scene => {
    const [first, second] = await Promise.all([createBrief(scene, 'expired'), createBrief(scene, 'long-expired')])
    if (!(await isServedAfter(scene, first, BRIEF_LIFETIME_S * 1000 + ROUNDING_MS))) {
      return good(`A copy with a lifetime of ${BRIEF_LIFETIME_S} s was not served after it expired.`)
    }
    const longMs = (BRIEF_LIFETIME_S + SLACK_S) * 1000 + ROUNDING_MS
    if (await isServedAfter(scene, second, longMs)) {
      const saw = `A copy with a lifetime of ${BRIEF_LIFETIME_S} s was still served after ${Math.round(longMs / 1000)} s.`
      return { saw, ...(await tooLong(scene)) }
    }
    return harmless(
      `A copy was served shortly after its lifetime, but not ${SLACK_S} s after it.`,
      `Harmless: the server allows for ${SLACK_S} s (slackMs). Readers without Freshet's client see data that is older by that ` +
        'much.',
    )
  },
}

interface Brief {
  readonly object: ProbeObject
  readonly filledMs: number
}

/** Written again after it was read, so that a copy differs from the present object. */
async function createBrief({ objects }: Scene, name: string): Promise<Brief> {
  const object = await objects.create(name, { isBrief: true })
  // Twice, for caches that store only what is requested more than once.
  for (let i = 0; i < 2; i++) await objects.read(object)
  const filledMs = performance.now()
  await objects.write(object)
  return { object, filledMs }
}

async function isServedAfter(scene: Scene, { object, filledMs }: Brief, ms: number): Promise<boolean> {
  await scene.pause(Math.max(0, filledMs + ms - performance.now()))
  return isOutdated(object, await scene.objects.read(object))
}

export const leavesLifetimes: Probe = {
  fact: 'lifetime',
  claim: 'Cache-Control arrives as the server sent it',
  examine: async scene => {
    const { objects, server } = scene
    const object = await objects.create('lifetime')
    const seen = headerOf(await objects.read(object), 'cache-control') ?? ''
    const direct = server && headerOf(await server.send({ target: object.path }), 'cache-control')
    const sent = direct ?? `public, max-age=${LIFETIME_S}, must-revalidate, stale-while-revalidate=0`
    if (directivesOf(seen) === directivesOf(sent)) return good(`It is "${seen}".`)
    const saw = `The server sends "${sent}"; what arrived is "${seen}".`
    const [isLonger, isShorter] = [lifetimeOf(seen) > lifetimeOf(sent), lifetimeOf(seen) < lifetimeOf(sent)]
    if (isLonger) return { saw, ...(await tooLong(scene)) }
    if (isShorter) return slower(saw, 'Downstream caches, including browsers, keep copies for a shorter time.')
    return harmless(saw, 'Harmless: lifetimes are the same. But downstream caches may serve copies past them.')
  },
}

function directivesOf(cacheControl: string): string {
  return cacheControl
    .toLowerCase()
    .split(',')
    .map(part => part.trim())
    .sort()
    .join()
}

/** The lifetime as browsers and caches read it. */
function lifetimeOf(cacheControl: string): number {
  if (/no-store|no-cache/i.test(cacheControl)) return 0
  const seconds = [...cacheControl.matchAll(/(?:max-age|s-maxage)=(\d+)/gi)].map(([, digits]) => Number(digits))
  return Math.max(0, ...seconds)
}

export const tellsAges: Probe = {
  fact: 'age',
  claim: 'copies report their age, by Age or by Date',
  examine: async scene => {
    const object = await scene.objects.createOutdated('age')
    if (!object) return NOTHING_KEPT
    const first = await scene.objects.read(object)
    await scene.pause(2100)
    const copy = await scene.objects.read(object)
    if (!isOutdated(object, copy)) return NOTHING_KEPT
    const age = Number(headerOf(copy, 'age') ?? 0)
    const [before, now] = [first, copy].map(answer => Date.parse(headerOf(answer, 'date') ?? ''))
    if (age >= 1) return good(`A two-second-old copy had Age: ${age}.`)
    if (before === now && !Number.isNaN(now)) return good('A two-second-old copy had its original Date.')
    const means = 'Browsers and downstream caches count the whole lifetime again. '
    const longer = await tooLong(scene)
    return {
      ...longer,
      saw: 'A two-second-old copy had neither an Age nor its original Date.',
      means: means + longer.means,
    }
  },
}

export const keepsNoErrors: Probe = {
  fact: 'errors',
  claim: 'errors are not stored',
  examine: async scene => {
    const path = scene.objects.name('absent')
    const absent = [await scene.objects.read({ path }), await scene.objects.read({ path })]
    const isAbsentKept = isSame(absent.map(requestIdOf))
    const { path: existing } = await scene.objects.create('errors')
    const at = await scene.farPosition()
    const refused = [await scene.askFar(existing, at), await scene.askFar(existing, at)]
    if (isSame(refused.map(({ requestId }) => requestId))) {
      return fatal(
        'A refusal (503) was answered from a copy, despite no-store.',
        'Fatal: a temporary failure fails for every reader until the copy is gone.',
      )
    }
    if (!isAbsentKept) return good('A 404 and a 503 were fetched from the server again.')
    const { effect, means } = await tooLong(scene)
    return {
      effect,
      saw: 'A 404 was answered from a copy, despite no-store: created objects stay invisible.',
      means: means!,
    }
  },
}

function isSame([first, second]: readonly (string | undefined)[]): boolean {
  return first !== undefined && first === second
}

export const keepsNoHead: Probe = {
  fact: 'no-store',
  claim: 'answers with no-store are not stored, and /coherence is always fresh',
  examine: async scene => {
    const object = await scene.objects.create('head')
    const nonce = randomBytes(12).toString('hex')
    const targets = { plain: '/coherence', named: `/coherence?nonce=${nonce}` }
    await positionAt(scene, targets.plain)
    await positionAt(scene, targets.named)
    await scene.objects.write(object)
    const head = await positionAt(scene, `/coherence?nonce=${nonce}-2`)
    if (head === undefined) {
      return fatal('/coherence was not answered.', 'Fatal: clients cannot learn what has changed.')
    }
    if (head < object.position) {
      return fatal(
        `/coherence reported position ${head} after ${object.position} had been acknowledged.`,
        'Fatal: clients learn of changes late, and trust old copies until then.',
      )
    }
    const kept = await keptOf(scene, [targets.plain, targets.named], object.position)
    if (kept.length === 0) return good('The server answered /coherence each time.')
    return harmless(
      `${kept[0]} was answered from a copy, despite no-store.`,
      'Harmless for clients, which use a new URL each time; simple readers of /coherence/filter may be misled.',
    )
  },
}

async function keptOf(scene: Scene, targets: readonly string[], position: Position): Promise<readonly string[]> {
  const kept: string[] = []
  for (const target of targets) if (((await positionAt(scene, target)) ?? 0) < position) kept.push(target)
  return kept
}

async function positionAt({ through }: Scene, target: string): Promise<Position | undefined> {
  return jsonOf<{ position?: Position }>(await through.send({ target }))?.position
}
