/** Under what a cache keeps its copies: the whole URL, the form that was asked for, and not who asked. */
import { fatal, good, harmless, NOTHING_KEPT, type Outcome, type Probe, slower, undecided, unsafe } from './finding.js'
import { isOutdated, jsonOf, type Reading } from './probe-objects.js'
import type { Scene } from './scene.js'

const STALE_FOREVER =
  'Fatal: ?at= is what keeps reads fresh. Clients notice and fail with CACHE_UNTRUSTWORTHY rather than return old data.'
/** Enough for the server to compress it. */
const SIZE_BYTES = 4096

export const keepsCopies: Probe = {
  fact: 'copies',
  claim: 'copies are kept, and answer later reads',
  examine: async ({ objects }) => {
    if (await objects.createOutdated('kept')) return good('A second read was answered from a copy.')
    return slower(
      'Every read of the same URL went to the server.',
      'Nothing is ever stale, but nothing is gained either: either no cache is on the way, or it keeps nothing.',
    )
  },
}

export const tellsQueriesApart: Probe = {
  fact: 'queries',
  claim: 'URLs that differ in their query are told apart, and reach the server whole',
  examine: async scene => (await ignoredInKey(scene)) ?? (await droppedOnTheWay(scene)) ?? (await mixedUpLists(scene)),
}

async function ignoredInKey({ objects }: Scene): Promise<Outcome | undefined> {
  const object = (await objects.createOutdated('query')) ?? (await objects.create('query-fresh'))
  for (let i = 0; i < 2; i++) {
    const at = object.position
    const reading = await objects.read(object, { at })
    if (!isOutdated(object, reading)) {
      await objects.write(object)
      continue
    }
    return fatal(`?at=${at} was answered ${told(reading)}, not from a state that includes it.`, STALE_FOREVER)
  }
  return undefined
}

function told({ position }: Reading): string {
  return position === undefined ? 'with an older copy' : `with a copy read at position ${position}`
}

/** The server does not answer for a position that it has not reached: who gets an answer did not ask for one. */
async function droppedOnTheWay(scene: Scene): Promise<Outcome | undefined> {
  const { status, number } = await scene.refused()
  if (number === undefined && status !== 200) return undefined
  return fatal('A position that does not exist yet was answered: the query did not reach the server.', STALE_FOREVER)
}

async function mixedUpLists({ objects }: Scene): Promise<Outcome> {
  const last = await objects.create('list')
  const lengths: number[] = []
  for (const limit of [1, 2, 1]) {
    const list = await objects.read({ path: `${objects.bucketPath}?at=${last.position}&limit=${limit}` })
    lengths.push(jsonOf<{ items?: readonly unknown[] }>(list)?.items?.length ?? 0)
  }
  if (lengths.join() === '1,2,1') return good('?at= led to what was written last; lists with other limits are others.')
  return fatal(
    `Lists with limit=1, 2 and 1 had ${lengths.join(', ')} items.`,
    'Fatal: answers to one query are given to another.',
  )
}

export const sharesCopiesAt: Probe = {
  fact: 'copies-at',
  claim: 'copies under ?at= are kept, so that a write costs one fetch and not one for each reader',
  examine: async ({ objects }) => {
    const object = await objects.create('shared')
    const at = object.position
    for (let i = 0; i < 3; i++) {
      await objects.read(object, { at })
      await objects.write(object)
      if (isOutdated(object, await objects.read(object, { at })))
        return good('A second read of ?at= was answered from a copy.')
    }
    return slower(
      'Every read of the same ?at= went to the server.',
      'Nothing is stale; but after a write each reader asks the server until the change has left the sketch.',
    )
  },
}

export const keepsFormsApart: Probe = {
  fact: 'vary',
  claim: 'compressed and plain forms are kept apart (Vary: Accept-Encoding)',
  examine: async ({ objects }) => {
    const forms = ['gzip', 'identity', 'br', 'gzip']
    for (const first of ['gzip', 'br', 'identity']) {
      const object = await objects.create(`vary-${first}`, { sizeBytes: SIZE_BYTES })
      for (const accepted of [first, ...forms]) {
        const reading = await objects.read(object, { headers: { 'Accept-Encoding': accepted } })
        const coding = reading.headers['content-encoding'] ?? 'identity'
        if ((coding === 'identity' || coding === accepted) && reading.number === object.number) continue
        return fatal(
          `Who accepts only ${accepted} was sent ${coding}${reading.number === undefined ? ', and it could not be read' : ''}.`,
          'Fatal: such readers cannot read the answer at all.',
        )
      }
    }
    return good('Whoever asked got a form that they accept.')
  },
}

export const keepsPermissionsApart: Probe = {
  fact: 'authorization',
  claim: 'answers to requests with Authorization are not given to others',
  examine: async ({ objects }) => {
    if (!(await objects.createOutdated('permission-plain'))) return NOTHING_KEPT
    const object = await objects.create('permission')
    for (let i = 0; i < 2; i++) await objects.read(object, { headers: { Authorization: 'Bearer doctor-one' } })
    await objects.write(object)
    const others = [
      ['with another permission', await objects.read(object, { headers: { Authorization: 'Bearer doctor-two' } })],
      ['without one', await objects.read(object)],
    ] as const
    const served = others.filter(([, reading]) => isOutdated(object, reading)).map(([who]) => who)
    if (served.length === 0) return good('What was asked for with a permission was fetched anew for others.')
    return unsafe(
      `A copy of an answer to a request with Authorization was given to one ${served.join(' and to one ')}.`,
      'Nothing is stale by it, and Freshet itself hides nothing. But if something behind this cache checks permissions, ' +
        'what one may see is shown to all.',
    )
  },
}

const READS = 24

export const doesNotGoBack: Probe = {
  fact: 'backwards',
  claim: 'no answer is older than one before it',
  examine: async ({ objects }) => {
    const object = await objects.create('backwards')
    let latest = 0
    for (let i = 0; i < READS; i++) {
      const { number } = await objects.read(object, { isFromElsewhere: true })
      if (number === undefined) return undecided('A read was not answered with the object.')
      if (number < latest) {
        return harmless(
          'A read was answered with an older copy than the one before it: several caches answer in turn.',
          'Harmless: a session remembers what it saw, and asks for that or later under ?at=.',
        )
      }
      latest = number
      await objects.write(object)
    }
    return good(`${READS} reads in a row, over connections of their own, never went back.`)
  },
}
