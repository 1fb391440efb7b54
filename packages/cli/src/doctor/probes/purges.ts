/** Who can make a cache drop its copies, and whether it does. */
import { PROBLEM_TYPE } from '@freshet/protocol'
import { good, IN_TURN, NOTHING_KEPT, type Outcome, type Probe, undecided } from '../finding.js'
import { headerOf } from '../http-probe.js'
import { isOutdated, type ProbeObject } from '../probe-objects.js'
import type { Scene } from '../scene.js'

const SECRET_HEADER = 'Freshet-Purge-Secret'
/** As the shipped configurations have it, to be changed. */
const SECRET_SHIPPED = 'change-me'

interface Attempt {
  readonly what: string
  readonly method: string
  readonly headers: (object: ProbeObject) => Readonly<Record<string, string>>
}

/** What a stranger would try. nginx has no PURGE: there a GET with the secret has the copy fetched anew. */
const STRANGERS: readonly Attempt[] = [
  { what: 'PURGE without a secret', method: 'PURGE', headers: () => ({}) },
  { what: `PURGE with "${SECRET_SHIPPED}"`, method: 'PURGE', headers: () => ({ [SECRET_HEADER]: SECRET_SHIPPED }) },
  { what: `GET with "${SECRET_SHIPPED}"`, method: 'GET', headers: () => ({ [SECRET_HEADER]: SECRET_SHIPPED }) },
  { what: 'BAN without a secret', method: 'BAN', headers: ({ path }) => ({ 'Freshet-Ban': `^${path}$` }) },
  {
    what: `BAN with "${SECRET_SHIPPED}"`,
    method: 'BAN',
    headers: ({ path }) => ({ [SECRET_HEADER]: SECRET_SHIPPED, 'Freshet-Ban': `^${path}$` }),
  },
]

export const refusesStrangers: Probe = {
  fact: 'purge-closed',
  claim: 'nobody purges without the secret, and refused purges do not reach the server',
  examine: async scene => {
    if (await scene.answersInTurn()) return IN_TURN
    const { objects, through } = scene
    let isPassedOn = false
    let dropping: string | undefined
    for (const [i, { what, method, headers }] of STRANGERS.entries()) {
      const object = await objects.createOutdated(`stranger-${i}`)
      if (!object) return NOTHING_KEPT
      const answer = await through.send({ method, target: object.path, headers: headers(object) })
      isPassedOn ||= answer.status === 405 && headerOf(answer, 'content-type') === PROBLEM_TYPE
      if (isOutdated(object, await objects.read(object))) continue
      if (answer.status < 400) return openToStrangers(what, answer.status)
      dropping ??= `${what} was refused with ${answer.status}, and the copy was gone all the same.`
    }
    if (dropping !== undefined) {
      return {
        effect: 'harmless',
        adviceOf: 'methods',
        saw: dropping,
        means:
          'Harmless: one copy is fetched again. It drops the copy of whatever is asked for with a method it does not know.',
      }
    }
    if (!isPassedOn) return good('Purges without the secret were refused by the cache.')
    return {
      effect: 'harmless',
      saw: 'PURGE was passed on to the server, which refuses it.',
      means: 'Harmless: nothing was purged. But the purges of the server do not work either.',
    }
  },
}

function openToStrangers(what: string, status: number): Outcome {
  return {
    effect: 'unsafe',
    saw: `${what} was answered with ${status}, and the copy was gone.`,
    means: 'Nothing is stale by it; but anybody can empty this cache, and put all its load on the server.',
  }
}

/** How the server tells a cache, and which of them this one understands. */
async function purges({ through, purgeSecret = '' }: Scene, method: string, target: string): Promise<void> {
  await through.send({ method, target, headers: { [SECRET_HEADER]: purgeSecret } })
}

async function methodThatPurges(scene: Scene): Promise<string | undefined> {
  for (const method of ['PURGE', 'HEAD']) {
    const object = await scene.objects.createOutdated(`purge-${method.toLowerCase()}`)
    if (!object) return undefined
    await purges(scene, method, object.path)
    if (!isOutdated(object, await scene.objects.read(object))) return method
  }
  return undefined
}

const NO_SECRET = undecided('Not tried: give --purge-secret, or the variable FRESHET_PURGE_SECRET.')

export const purgesOnRequest: Probe = {
  fact: 'purge',
  claim: 'a purge with the secret makes it drop its copy',
  examine: async scene => {
    if (scene.purgeSecret === undefined) return NO_SECRET
    if (await scene.answersInTurn()) return IN_TURN
    if (!(await scene.objects.createOutdated('purge'))) return NOTHING_KEPT
    const method = await methodThatPurges(scene)
    if (method === 'PURGE') return good('After PURGE with the secret the copy was gone.')
    if (method === 'HEAD') return good('After HEAD with the secret the copy had been fetched anew.')
    return {
      effect: 'slower',
      saw: 'Neither PURGE nor HEAD with the secret had the copy dropped.',
      means:
        'Clients of Freshet do not mind. All other readers are served the old copy until its lifetime ends. Is the secret ' +
        'right, and may purges come from this address?',
    }
  },
}

/** How far ahead of the log, attempt by attempt: others may write as well, and so end the wait too early. */
const AHEAD = [1, 16, 256]
/** For the held request to be under way when the purge comes. */
const HEAD_START_MS = 100

export const purgesWhatIsOnItsWay: Probe = {
  fact: 'purge-race',
  claim: 'a purge also drops what is being fetched while it comes',
  when: 'at the end',
  examine: async scene => {
    if (scene.purgeSecret === undefined) return NO_SECRET
    if (await scene.answersInTurn()) return IN_TURN
    if ((await methodThatPurges(scene)) !== 'PURGE') return undecided('This cache does not know PURGE.')
    for (const ahead of AHEAD) {
      const outcome = await race(scene, ahead)
      if (outcome) return outcome
    }
    return undecided('Others write too much for a slow answer to be had.')
  },
}

/**
 * The server does not answer `?at=` before it has got there: so an answer can be held back until the doctor writes.
 * Undefined if somebody else wrote before.
 */
async function race(scene: Scene, ahead: number): Promise<Outcome | undefined> {
  const { objects } = scene
  const object = await objects.create(`race-${ahead}`)
  const at = (await objects.position()) + ahead
  let isFilled = false
  const filling = objects.read(object, { at }).finally(() => {
    isFilled = true
  })
  const [filled, wasEarly] = await Promise.all([filling, purgeAndRelease()])
  if (wasEarly || filled.number !== object.number) return undefined
  await objects.write(object)
  if (!isOutdated(object, await objects.read(object, { at })))
    return good('A copy that came after its purge was not kept.')
  return {
    effect: 'harmless',
    saw: 'A copy that was on its way while it was purged was kept.',
    means: 'Harmless: the server purges again after the longest time an answer takes, and no client relies on it.',
  }

  /** Whether the answer had come before it was purged. */
  async function purgeAndRelease(): Promise<boolean> {
    await scene.pause(HEAD_START_MS)
    const purging = purges(scene, 'PURGE', `${object.path}?at=${at}`)
    // Squid, when it collapses requests, has a purge wait for the answer that is being fetched.
    await Promise.race([purging, scene.pause(HEAD_START_MS)])
    const wasFilled = isFilled
    await Promise.all([purging, objects.advanceTo(at)])
    return wasFilled
  }
}
