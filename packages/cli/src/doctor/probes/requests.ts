/** What becomes of requests on their way: wishes, conditions, writes, and several at once. */
import { fatal, good, harmless, IN_TURN, NOTHING_KEPT, type Outcome, type Probe, undecided } from './finding.js'
import { isOutdated } from './probe-objects.js'
import type { Refused, Scene } from './scene.js'

export const honoursWishes: Probe = {
  fact: 'revalidation',
  claim: 'a reader can have a copy revalidated (Cache-Control in the request)',
  examine: async scene => {
    if (await scene.answersInTurn()) return IN_TURN
    const { objects } = scene
    const wishes = ['no-cache', 'max-age=0', 'max-age=0 with If-None-Match']
    const ignored: string[] = []
    for (const [i, wish] of wishes.entries()) {
      const object = await objects.createOutdated(`wish-${i}`)
      if (!object) return NOTHING_KEPT
      const [cacheControl = ''] = wish.split(' ')
      const etag = wish.includes('If-None-Match') ? (await objects.read(object)).headers.etag : undefined
      const headers = { 'Cache-Control': cacheControl, ...(etag === undefined ? {} : { 'If-None-Match': etag }) }
      const reading = await objects.read(object, { headers })
      if (reading.status === 304 || isOutdated(object, reading)) ignored.push(wish)
    }
    if (ignored.length === 0) return good('no-cache and max-age=0 led to the server.')
    return harmless(
      `It answered from an outdated copy in spite of ${ignored.join(', ')}.`,
      'Harmless because of ?at=: clients do not ask for revalidation, but under a URL that no old copy has. Readers of ' +
        'the folded filter, who revalidate, are not safe behind it.',
    )
  },
}

/** When the second request follows, as a share of the time that the first one takes. */
const SHARE = 0.2
const TRIALS_MAX = 5

export const doesNotJoin: Probe = {
  fact: 'collapsing',
  claim: 'no request waits for, or shares the answer of, one that began before it',
  examine: async scene => {
    const refused = await scene.refused()
    if (refused.status !== 503 || refused.tookMs < 200)
      return undecided('The server does not wait for positions (positionWaitMsMax).')
    let waitMs = refused.tookMs
    for (let i = 0; i < TRIALS_MAX; i++) {
      const [first, second] = await askTwice(scene, `joined-${i}`, waitMs * SHARE)
      waitMs = Math.min(waitMs, first.tookMs)
      if (first.requestId !== undefined && first.requestId === second.requestId)
        return joined('A request was given the answer to one that began before it.')
      // On a busy machine all take longer: then nothing can be told from it.
      if (first.tookMs > 1.25 * waitMs) continue
      if (second.tookMs < 1.25 * waitMs) return good('Two requests for the same URL went their own ways.')
      if (second.tookMs > 1.6 * waitMs) return joined('A request waited for one of the same URL that began before it.')
    }
    return undecided('Answers took now long, now short: too unevenly to tell.')
  },
}

/**
 * Both ask for a position that is never reached, so the server answers each after the same time, with the id of the request.
 * Who waits for the first, and is then sent to the server, takes nearly twice as long.
 */
async function askTwice(scene: Scene, name: string, apartMs: number): Promise<readonly [Refused, Refused]> {
  const { path } = await scene.objects.create(name)
  const at = await scene.farPosition()
  return Promise.all([scene.askFar(path, at), scene.pause(apartMs).then(() => scene.askFar(path, at))])
}

function joined(saw: string): Outcome {
  return harmless(
    saw,
    'Harmless because of ?at=, and it spares the server: all who ask for a change share one fetch. But who asks for a ' +
      'revalidation may be given what was read before they asked.',
  )
}

export const dropsWhatIsWritten: Probe = {
  fact: 'writes',
  claim: 'a PUT through the cache makes it drop its copy of that URL',
  examine: async scene => {
    if (await scene.answersInTurn()) return IN_TURN
    const { objects } = scene
    const object = await objects.createOutdated('put')
    if (!object) return NOTHING_KEPT
    const { status } = await objects.put(object)
    if (status !== 200) return undecided(`A PUT was answered with ${status}.`)
    if (!isOutdated(object, await objects.read(object))) return good('After a PUT the copy was gone.')
    return harmless(
      'After a PUT through it, it still answered with the old copy.',
      'Harmless because of ?at=: a session asks for its own writes under a URL that no old copy has.',
    )
  },
}

export const leavesConditions: Probe = {
  fact: 'conditions',
  claim: 'conditions of writes (If-Match, If-None-Match) reach the server',
  examine: async ({ objects }) => {
    for (const [name, value] of [
      ['If-None-Match', '*'],
      ['If-Match', '"1"'],
    ] as const) {
      const object = await objects.create(`condition-${name.toLowerCase()}`)
      const { status } = await objects.put(object, { [name]: value })
      if (status === 412) continue
      return fatal(
        `A PUT with ${name}: ${value}, which does not hold, was answered with ${status} instead of 412.`,
        "Fatal: writers overwrite each other's changes without knowing.",
      )
    }
    return good('Writes whose condition does not hold were refused.')
  },
}
