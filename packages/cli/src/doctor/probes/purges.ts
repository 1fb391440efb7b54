/** Which requests make a cache drop its copies, and whether a purge works. */
import { PROBLEM_TYPE } from '@freshet/protocol'
import {
  good,
  harmless,
  IN_TURN,
  NOTHING_KEPT,
  type Outcome,
  type Probe,
  slower,
  undecided,
  unsafe,
} from './finding.js'
import { headerOf, type ProbeAnswer } from './http-probe.js'
import { isOutdated, type ProbeObject, type ProbeObjects } from './probe-objects.js'
import type { Scene } from './scene.js'

const SECRET_HEADER = 'Freshet-Purge-Secret'
/** The placeholder in the shipped configurations. */
const SECRET_SHIPPED = 'change-me'

interface Attempt {
  readonly what: string
  readonly method: string
  readonly headers: (object: ProbeObject) => Readonly<Record<string, string>>
}

/** What a stranger would try. nginx has no PURGE: a GET with the secret makes it fetch the copy again. */
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

const TRIES_MAX = 4

interface Fate {
  readonly answer: ProbeAnswer
  readonly fate: 'kept' | 'dropped' | 'unclear'
}

/**
 * What a request does to the copy of one object; undefined if no copy is stored. The server may be purging this cache too, in
 * the order of its writes. So the probe also looks at the copy of a witness, which was written before the object, after the
 * object's. If both are gone, either the server has purged them or the request drops every copy. It is the request if that
 * happens each time, and never to a control for which no request was sent.
 */
async function fateOfCopy(
  objects: ProbeObjects,
  name: string,
  send: (object: ProbeObject) => Promise<ProbeAnswer>,
): Promise<Fate | undefined> {
  let isControlKept = true
  for (let i = 1; ; i++) {
    const witness = await objects.createOutdated(`${name}-witness-${i}`)
    const object = await objects.createOutdated(`${name}-${i}`)
    if (!witness || !object) return undefined
    const answer = await send(object)
    if (isOutdated(object, await objects.read(object))) return { answer, fate: 'kept' }
    if (isOutdated(witness, await objects.read(witness))) return { answer, fate: 'dropped' }
    isControlKept &&= await staysWithoutRequest(objects, `${name}-control-${i}`)
    if (i === TRIES_MAX) return { answer, fate: isControlKept ? 'dropped' : 'unclear' }
  }
}

/** Looks at the copy twice, so that it takes about as long as a request and a look. */
async function staysWithoutRequest(objects: ProbeObjects, name: string): Promise<boolean> {
  const control = await objects.createOutdated(name)
  if (!control) return false
  await objects.read(control)
  return isOutdated(control, await objects.read(control))
}

export const refusesStrangers: Probe = {
  fact: 'purge-closed',
  claim: 'only requests with the secret purge, and refused purges do not reach the server',
  examine: async scene => {
    if (await scene.answersInTurn()) return IN_TURN
    const { objects, through } = scene
    let isPassedOn = false
    let dropping: string | undefined
    let unclear: string | undefined
    for (const [i, { what, method, headers }] of STRANGERS.entries()) {
      const send = (object: ProbeObject) => through.send({ method, target: object.path, headers: headers(object) })
      const seen = await fateOfCopy(objects, `stranger-${i}`, send)
      if (!seen) return NOTHING_KEPT
      const { answer, fate } = seen
      isPassedOn ||= answer.status === 405 && headerOf(answer, 'content-type') === PROBLEM_TYPE
      if (fate === 'kept') continue
      if (fate === 'unclear') unclear ??= what
      else if (answer.status < 400) return openToStrangers(what, answer.status)
      else dropping ??= `${what} was refused with ${answer.status}, but the copy was gone.`
    }
    if (dropping !== undefined) {
      return {
        effect: 'harmless',
        adviceOf: 'methods',
        saw: dropping,
        means:
          'Harmless: one copy is fetched again. On a request with a method that it does not know, the cache drops its copy of the URL.',
      }
    }
    if (unclear !== undefined)
      return undecided(`After ${unclear}, copies were gone, but the server may have purged them. Try again.`)
    if (!isPassedOn) return good('Purges without the secret were refused by the cache.')
    return harmless(
      'The cache passed PURGE on to the server, which refuses it.',
      "Harmless: nothing was purged. But the server's own purges do not work either.",
    )
  },
}

function openToStrangers(what: string, status: number): Outcome {
  return unsafe(
    `${what} was answered with ${status}, and the copy was gone.`,
    'Nothing is stale because of it, but anyone can empty this cache and put all its load on the server.',
  )
}

/** Sends a purge as the server does. */
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

const NO_SECRET = undecided('Not tested: give --purge-secret, or set FRESHET_PURGE_SECRET.')

export const purgesOnRequest: Probe = {
  fact: 'purge',
  claim: 'a purge with the secret makes the cache drop its copy',
  examine: async scene => {
    if (scene.purgeSecret === undefined) return NO_SECRET
    if (await scene.answersInTurn()) return IN_TURN
    if (!(await scene.objects.createOutdated('purge'))) return NOTHING_KEPT
    const method = await methodThatPurges(scene)
    if (method === 'PURGE') return good('After PURGE with the secret, the copy was gone.')
    if (method === 'HEAD') return good('After HEAD with the secret, the copy had been fetched again.')
    return slower(
      'Neither PURGE nor HEAD with the secret removed the copy.',
      'Freshet clients still read nothing stale. All other readers get the old copy until its lifetime ends. Check the secret, ' +
        'and that the cache accepts purges from this address.',
    )
  },
}

/** How far ahead of the log each attempt asks, in positions: other writers may end the wait too early. */
const AHEAD = [1, 16, 256]
/** After this time the held request is under way. */
const HEAD_START_MS = 100

export const purgesWhatIsOnItsWay: Probe = {
  fact: 'purge-race',
  claim: 'a purge also drops a copy that is being fetched when it arrives',
  examine: async scene => {
    if (scene.purgeSecret === undefined) return NO_SECRET
    if (await scene.answersInTurn()) return IN_TURN
    if ((await methodThatPurges(scene)) !== 'PURGE') return undecided('This cache does not know PURGE.')
    for (const ahead of AHEAD) {
      const outcome = await race(scene, ahead)
      if (outcome) return outcome
    }
    return undecided('Other clients write too often: the server could not be made to answer late.')
  },
}

/**
 * The server does not answer `?at=` before it has reached that position, so the doctor holds an answer back until it writes.
 * Undefined if another client wrote first.
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
    return good('A copy that arrived after its purge was not stored.')
  return harmless(
    'A copy that was being fetched during its purge was stored.',
    'Harmless: the server purges again after the longest time that an answer takes, and no client relies on purges.',
  )

  /** Whether the answer had arrived before the purge. */
  async function purgeAndRelease(): Promise<boolean> {
    await scene.pause(HEAD_START_MS)
    const purging = purges(scene, 'PURGE', `${object.path}?at=${at}`)
    // When Squid collapses requests, it makes a purge wait for the answer that is being fetched.
    await Promise.race([purging, scene.pause(HEAD_START_MS)])
    const wasFilled = isFilled
    await Promise.all([purging, objects.advanceTo(at)])
    return wasFilled
  }
}
