/** What caches do with requests: cache directives, conditions, writes, and concurrent requests. */
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
      `The cache answered from an outdated copy despite ${ignored.join(', ')}.`,
      'Harmless because of ?at=: clients do not ask for revalidation, but use a URL that no old copy has. Readers of the ' +
        'folded filter, who revalidate, are not safe behind this cache.',
    )
  },
}

/** When the second request starts, as a share of the time that the first one takes. */
const SHARE = 0.2
const TRIALS_MAX = 5

export const doesNotJoin: Probe = {
  fact: 'collapsing',
  claim: 'no request waits for, or shares the answer of, an earlier one',
  examine: async scene => {
    const refused = await scene.refused()
    if (refused.status !== 503 || refused.tookMs < 200)
      return undecided('The server does not wait for positions (positionWaitMsMax).')
    let waitMs = refused.tookMs
    for (let i = 0; i < TRIALS_MAX; i++) {
      const [first, second] = await askTwice(scene, `joined-${i}`, waitMs * SHARE)
      waitMs = Math.min(waitMs, first.tookMs)
      if (first.requestId !== undefined && first.requestId === second.requestId)
        return joined('A request got the answer to an earlier one.')
      // On a busy machine every request takes longer, so the times prove nothing.
      if (first.tookMs > 1.25 * waitMs) continue
      if (second.tookMs < 1.25 * waitMs) return good('Two requests for the same URL were answered separately.')
      if (second.tookMs > 1.6 * waitMs) return joined('A request waited for an earlier one with the same URL.')
    }
    return undecided('Response times varied too much to decide.')
  },
}

/**
 * Both requests ask for a position that is never reached, so the server answers each after the same time, with the id of the
 * request. A request that waits for the first and is then sent to the server takes nearly twice as long.
 */
async function askTwice(scene: Scene, name: string, apartMs: number): Promise<readonly [Refused, Refused]> {
  const { path } = await scene.objects.create(name)
  const at = await scene.farPosition()
  return Promise.all([scene.askFar(path, at), scene.pause(apartMs).then(() => scene.askFar(path, at))])
}

function joined(saw: string): Outcome {
  return harmless(
    saw,
    'Harmless because of ?at=, and it spares the server: all readers of a change share one fetch. But a reader that asks for ' +
      'revalidation may get data that was read before its request.',
  )
}

export const dropsWhatIsWritten: Probe = {
  fact: 'writes',
  claim: 'a PUT through the cache removes its copy of that URL',
  examine: async scene => {
    if (await scene.answersInTurn()) return IN_TURN
    const { objects } = scene
    const object = await objects.createOutdated('put')
    if (!object) return NOTHING_KEPT
    const { status } = await objects.put(object)
    if (status !== 200) return undecided(`A PUT was answered with ${status}.`)
    if (!isOutdated(object, await objects.read(object))) return good('After a PUT, the copy was gone.')
    return harmless(
      'After a PUT through the cache, it still answered with the old copy.',
      'Harmless because of ?at=: a session reads its own writes under a URL that no old copy has.',
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
    return good('Writes whose condition did not hold were refused.')
  },
}
