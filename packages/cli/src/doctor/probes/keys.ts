/** The key under which a cache stores copies: the whole URL and the requested form, but not the requester. */
import { fatal, good, harmless, NOTHING_KEPT, type Outcome, type Probe, slower, undecided, unsafe } from './finding.js'
import { isOutdated, jsonOf, type Reading } from './probe-objects.js'
import type { Scene } from './scene.js'

const STALE_FOREVER =
  'Fatal: ?at= is what keeps reads fresh. Clients detect this and fail with CACHE_UNTRUSTWORTHY rather than return old data.'
/** Enough for the server to compress it. */
const SIZE_BYTES = 4096

export const keepsCopies: Probe = {
  fact: 'copies',
  claim: 'copies are stored, and answer later reads',
  examine: async ({ objects }) => {
    if (await objects.createOutdated('kept')) return good('A second read was answered from a copy.')
    return slower(
      'Every read of the same URL went to the server.',
      'Nothing is ever stale, but nothing is gained either: there is no cache on the way, or it stores nothing.',
    )
  },
}

export const tellsQueriesApart: Probe = {
  fact: 'queries',
  claim: 'URLs with different queries are kept apart, and reach the server complete',
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
    return fatal(`?at=${at} was answered ${sourceOf(reading)}, not from a state that includes it.`, STALE_FOREVER)
  }
  return undefined
}

function sourceOf({ position }: Reading): string {
  return position === undefined ? 'with an older copy' : `with a copy read at position ${position}`
}

/** The server does not answer for a position that it has not reached: an answer means that it got no position. */
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
  if (lengths.join() === '1,2,1')
    return good('?at= returned the latest write; lists with different limits were kept apart.')
  return fatal(
    `Lists with limit=1, 2 and 1 had ${lengths.join(', ')} items.`,
    'Fatal: answers to one query are given to another.',
  )
}

export const sharesCopiesAt: Probe = {
  fact: 'copies-at',
  claim: 'copies under ?at= are stored, so that a write costs one fetch instead of one for each reader',
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
      'Nothing is stale; but after a write, each reader asks the server until the change has left the sketch.',
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
          `A reader that accepts only ${accepted} was sent ${coding}${reading.number === undefined ? ', and it could not be read' : ''}.`,
          'Fatal: such readers cannot read the answer at all.',
        )
      }
    }
    return good('Each reader got a form that it accepts.')
  },
}

export const keepsPermissionsApart: Probe = {
  fact: 'authorization',
  claim: 'answers to requests with Authorization are not served to other readers',
  examine: async ({ objects }) => {
    if (!(await objects.createOutdated('permission-plain'))) return NOTHING_KEPT
    const object = await objects.create('permission')
    for (let i = 0; i < 2; i++) await objects.read(object, { headers: { Authorization: 'Bearer doctor-one' } })
    await objects.write(object)
    const others = [
      ['with another token', await objects.read(object, { headers: { Authorization: 'Bearer doctor-two' } })],
      ['without a token', await objects.read(object)],
    ] as const
    const served = others.filter(([, reading]) => isOutdated(object, reading)).map(([who]) => who)
    if (served.length === 0) return good('An answer to a request with a token was fetched again for other readers.')
    return unsafe(
      `A copy of an answer to a request with Authorization was served to a reader ${served.join(' and to one ')}.`,
      'Nothing is stale because of it. But if the server has rules, or a proxy behind this cache checks permissions,  ' +
        'data that one reader may see is shown to all.',
    )
  },
}

const READS = 24

export const doesNotGoBack: Probe = {
  fact: 'backwards',
  claim: 'no answer is older than an earlier one',
  examine: async ({ objects }) => {
    const object = await objects.create('backwards')
    let latest = 0
    for (let i = 0; i < READS; i++) {
      const { number } = await objects.read(object, { isFromElsewhere: true })
      if (number === undefined) return undecided('A read was not answered with the object.')
      if (number < latest) {
        return harmless(
          'A read was answered with an older copy than the one before it: several caches answer in turn.',
          'Harmless: a session remembers what it saw, and requests that or a later state with ?at=.',
        )
      }
      latest = number
      await objects.write(object)
    }
    return good(`${READS} consecutive reads, each over its own connection, never went back.`)
  },
}
