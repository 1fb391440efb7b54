/** What the simulation covers: how caches behave, and how networks and servers fail. */
import { createRandom } from '../harness/random.js'

/** Each is behaviour that a cache in use showed, or that the standard allows. */
export interface CacheBehaviour {
  /** Serves copies for this long past their expiry, and fetches in the background. */
  readonly graceMs: number
  /** Counts the age that a copy had when it arrived. nginx does not. */
  readonly countsAge: boolean
  /** Reports how old a copy is. nginx does not: a cache that keeps a copy of a copy then takes it for new. */
  readonly sendsAge: boolean
  /** Adds the network delay to that age, as RFC 9111 says. */
  readonly countsDelay: boolean
  /** A late fill overwrites a newer copy. */
  readonly goesBackwards: boolean
  /** Joins a request to one under way for the same URL. */
  readonly collapses: boolean
  /** Keeps answers for absent objects, against the headers. */
  readonly keepsAbsent: boolean
  /** Ignores a client's request to bypass it. */
  readonly ignoresReload: boolean
  /** Removes unknown headers. */
  readonly stripsPosition: boolean
  /** Drops its copy of the plain URL when a write passes through. */
  readonly dropsOnWrite: boolean
  /** Keeps heads of the sketch for this long, against the headers. */
  readonly keepsHeadsMs: number
  /** Keeps every cacheable answer for at least this long, whatever the server says. */
  readonly lifetimeMsMin: number
  /** What the cache ignores when it names its copies: nothing, the nonces of heads, or all queries. */
  readonly leavesOut: 'nothing' | 'nonces' | 'queries'
}

export interface Mix {
  readonly name: string
  readonly lifetimeMs: number
  readonly responseMsMax: number
  readonly slackMs: number
  readonly commitMsMax: number
  readonly durationMs: number
  readonly readers: number
  readonly workers: number
  readonly thinkMs: number
  readonly writesPerSecond: number
  readonly browser: CacheBehaviour
  /** Forward proxies, each in front of a reverse proxy. */
  readonly forward: readonly CacheBehaviour[]
  /** Next to the server. */
  readonly reverse: readonly CacheBehaviour[]
  readonly hasFaults: boolean
  /** How often a reply is lost, and how often it is slow. */
  readonly lossRate: number
  readonly slowRate: number
}

/**
 * How readers use caches. freshet: as a Session decides. revalidate: requests what the sketch names past the caches, under its
 * plain URL (the thesis). plain: as the web does, without a sketch.
 */
export type Strategy = 'freshet' | 'revalidate' | 'plain'

export const TAME: CacheBehaviour = {
  graceMs: 0,
  countsAge: true,
  sendsAge: true,
  countsDelay: true,
  goesBackwards: false,
  collapses: false,
  keepsAbsent: false,
  ignoresReload: false,
  stripsPosition: false,
  dropsOnWrite: true,
  keepsHeadsMs: 0,
  lifetimeMsMin: 0,
  leavesOut: 'nothing',
}

const NASTY: CacheBehaviour = {
  graceMs: 10_000,
  countsAge: true,
  sendsAge: true,
  countsDelay: false,
  goesBackwards: true,
  collapses: true,
  keepsAbsent: true,
  ignoresReload: true,
  stripsPosition: false,
  dropsOnWrite: false,
  keepsHeadsMs: 0,
  lifetimeMsMin: 0,
  leavesOut: 'nothing',
}

/** Copies of its copies live twice as long; only their position shows that. */
const NGINX: CacheBehaviour = { ...NASTY, countsAge: false, sendsAge: false }
const HIDING_AGE: CacheBehaviour = { ...NGINX, graceMs: 0, countsDelay: true }
const BROWSER: CacheBehaviour = { ...TAME, keepsAbsent: true }

const WORST: Omit<Mix, 'name'> = withSlack({
  lifetimeMs: 60_000,
  responseMsMax: 3000,
  commitMsMax: 800,
  durationMs: 600_000,
  readers: 64,
  workers: 3,
  thinkMs: 50,
  writesPerSecond: 2,
  browser: BROWSER,
  forward: [NASTY, BROWSER],
  reverse: [NGINX, NASTY],
  hasFaults: true,
  lossRate: 0.01,
  slowRate: 0.02,
})

/**
 * What the slack must cover. For each cache in a row: the time that it serves past expiry, the second by which Age is rounded,
 * and the network delay if it does not count that. And once: the time between a commit's stamp and its visibility.
 */
function slackMsFor(mix: Pick<Mix, 'browser' | 'forward' | 'reverse' | 'responseMsMax' | 'commitMsMax'>): number {
  const rows = [[mix.browser], mix.forward, mix.reverse]
  const each = rows.map(row => Math.max(0, ...row.map(cache => extraMs(cache, mix.responseMsMax))))
  return each.reduce((sum, extra) => sum + extra, 0) + mix.commitMsMax + 500
}

function extraMs({ graceMs, countsDelay }: CacheBehaviour, responseMsMax: number): number {
  return graceMs + 1000 + (countsDelay ? 0 : responseMsMax)
}

function withSlack(mix: Omit<Mix, 'name' | 'slackMs'>): Omit<Mix, 'name'> {
  return { ...mix, slackMs: slackMsFor(mix) }
}

export type MixName = 'tame' | 'worst' | 'short' | 'busy' | 'hidden age'

export const MIXES: Readonly<Record<MixName, Mix>> = {
  /** Caches that do what the RFC says, and a network without faults. */
  tame: {
    ...withSlack({ ...WORST, browser: TAME, forward: [TAME, TAME], reverse: [TAME, TAME], hasFaults: false }),
    name: 'tame',
  },
  /** All the measured behaviour at once. */
  worst: { ...WORST, name: 'worst' },
  /** Copies that live shorter than the grace. */
  short: { ...WORST, name: 'short', lifetimeMs: 4000, writesPerSecond: 6 },
  /** More changes than can be listed one by one. */
  busy: { ...WORST, name: 'busy', lifetimeMs: 20_000, writesPerSecond: 60, durationMs: 200_000 },
  /** Copies live two or three lifetimes, which the window does not cover: only the position in the answers shows that. */
  'hidden age': {
    ...withSlack({ ...WORST, forward: [HIDING_AGE, HIDING_AGE], reverse: [HIDING_AGE, HIDING_AGE] }),
    name: 'hidden age',
    hasFaults: false,
    writesPerSecond: 4,
  },
}

/** Caches with random behaviour that the slack covers, and that keep positions: no answer need be refused for long. */
export function drawMix(seed: number): Mix {
  const random = createRandom(seed).fork('mix')
  const hidesAge = random.float() < 0.4
  const draw = (isNextToServer: boolean): CacheBehaviour => ({
    graceMs: random.pick([0, 2000, 10_000]),
    countsAge: !(hidesAge || isNextToServer) || random.float() < 0.5,
    sendsAge: !hidesAge || random.float() < 0.5,
    countsDelay: random.float() < 0.5,
    goesBackwards: random.float() < 0.7,
    collapses: random.float() < 0.7,
    keepsAbsent: random.float() < 0.7,
    ignoresReload: random.float() < 0.7,
    stripsPosition: false,
    dropsOnWrite: random.float() < 0.5,
    keepsHeadsMs: 0,
    lifetimeMsMin: 0,
    leavesOut: 'nothing',
  })
  const caches = { browser: draw(false), forward: [draw(false), draw(false)], reverse: [draw(true), draw(true)] }
  const lifetimeMs = random.pick([5000, 20_000, 60_000, 120_000])
  return { ...withSlack({ ...WORST, ...caches, lifetimeMs }), name: `drawn from ${seed}`, durationMs: 300_000 }
}

/** Each is a fault that no slack covers, or one that makes such a fault worse. */
const FAULTS: Readonly<Record<string, Partial<CacheBehaviour>>> = {
  'serves long past expiry': { graceMs: 600_000 },
  'overrides lifetimes': { lifetimeMsMin: 600_000 },
  'hides ages': { countsAge: false, sendsAge: false },
  'counts no delay': { countsDelay: false },
  'goes backwards': { goesBackwards: true },
  collapses: { collapses: true },
  'keeps what is absent': { keepsAbsent: true },
  'ignores reload': { ignoresReload: true },
  'removes positions': { stripsPosition: true },
  'misses writes': { dropsOnWrite: false },
  'keeps heads': { keepsHeadsMs: 60_000 },
  'leaves out nonces, keeps heads': { leavesOut: 'nonces', keepsHeadsMs: 60_000 },
  'leaves out queries': { leavesOut: 'queries' },
}

/** Every shared cache and the browsers' have two or three faults, drawn at random; one in four has none. */
export function drawFaults(seed: number, durationMs: number): Mix {
  const random = createRandom(seed).fork('faults')
  const names = Object.keys(FAULTS)
  const draw = (): CacheBehaviour => {
    if (random.float() < 0.25) return TAME
    const picked = new Set<string>()
    const count = 2 + random.below(2)
    while (picked.size < count) picked.add(random.pick(names))
    return Object.assign({}, TAME, ...[...picked].map(name => FAULTS[name])) as CacheBehaviour
  }
  const caches = { browser: draw(), forward: [draw(), draw()], reverse: [draw(), draw()] }
  const lifetimeMs = random.pick([5000, 20_000, 60_000])
  return { ...WORST, ...caches, lifetimeMs, slackMs: 15_000, name: `faults drawn from ${seed}`, durationMs }
}
