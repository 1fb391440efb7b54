/**
 * How nodes become a quorum, once, and how servers know ever after which nodes belong to it.
 *
 * A quorum is founded when all its nodes are there and empty. A server writes the quorum's id to each node, to the first one
 * before the others, so that two servers that found it at once agree; then it notes on each node that all have the id. From
 * then on slots may be decided, so a node that does not have the id has lost what it had promised and accepted. It must not
 * vote as if it were new: it has no voice, and a server that needs its vote finds that out.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { NO_BALLOT } from '@freshet/core/agreement'
import { storeUnavailable, storeUnusable } from '@freshet/store/engine'
import { APPLIED, type Applied, VOICE, type Voice } from './node-keys.js'
import { holdsOthers, jsonWrite, parse, type QuorumNode, voiceWrite } from './quorum-node.js'

interface Seen {
  readonly node: QuorumNode
  readonly voice: Voice | undefined
  readonly version: number
}

const TRIES_MAX = 10
const OPEN_MS_MAX = 15_000
/** If a majority is there, nodes that are silent for this long are left out. */
const PATIENCE_MS = 1000

/**
 * Sets for every node the quorum that it must belong to. Throws STORE_UNAVAILABLE if too few nodes answer, STORE_UNUSABLE if
 * they are not of one quorum.
 */
export async function joinRing(place: string, nodes: readonly QuorumNode[], majority: number): Promise<void> {
  let wasFounded = false
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const seen = await survey(nodes, majority)
    const known = seen.filter(({ voice }) => voice !== undefined)
    const isFounded = known.some(({ voice }) => voice!.isFounded)
    if (isFounded && !wasFounded) {
      // The nodes that were asked first may have received the id only after they answered: their next answer counts.
      wasFounded = true
      if (known.length < seen.length || known.some(({ voice }) => voice!.ring !== known[0]!.voice!.ring)) continue
    }
    checkAlike(place, nodes.length, known, isFounded)
    // Two servers that found it at once, with the nodes in different orders, may have begun two quorums: both continue the same
    // one.
    const [ring] = known.map(({ voice }) => voice!.ring).sort()
    if (isFounded) {
      checkMajority(place, nodes, seen, known.length, majority)
      for (const node of nodes) node.ring = ring
      return
    }
    if (seen.length < nodes.length)
      throw storeUnavailable(place, troubleOf(nodes, 'all nodes are needed to found it'), 'not-done')
    await checkEmpty(place, seen)
    await found(seen, ring ?? randomUUID())
  }
  throw storeUnavailable(place, new Error('other servers are founding it, and do not finish'), 'not-done')
}

/** The nodes that answer. */
async function survey(nodes: readonly QuorumNode[], majority: number): Promise<readonly Seen[]> {
  const seen: Seen[] = []
  const asking = nodes.map(async node => {
    // Opening a node for the first time may take long, as its tables are created then.
    const [found] = await node.read([VOICE], OPEN_MS_MAX)
    seen.push({ node, voice: found && (parse(found) as Voice), version: found?.version ?? 0 })
  })
  const all = Promise.allSettled(asking)
  for (;;) {
    const isOver = await Promise.race([all.then(() => true), delay(PATIENCE_MS, false, { ref: false })])
    const founded = seen.filter(({ voice }) => voice?.isFounded === true).length
    if (isOver || founded >= majority) return seen.toSorted((a, b) => nodes.indexOf(a.node) - nodes.indexOf(b.node))
  }
}

/** A store that is used for other data cannot be a node. */
async function checkEmpty(place: string, seen: readonly Seen[]): Promise<void> {
  for (const { node, voice } of seen) {
    if (voice === undefined && (await holdsOthers(node))) {
      throw storeUnusable(
        place,
        `${node.place} holds other data. Name an empty store, and copy the data with freshet copy`,
      )
    }
  }
}

/**
 * One step: writes the quorum's id to the nodes that lack it; or, if all have it, notes on each that all have it. If another
 * server was first in between, the next survey shows what it wrote.
 */
async function found(seen: readonly Seen[], ring: string): Promise<void> {
  const all = seen.every(({ voice }) => voice?.ring === ring)
  for (const { node, voice, version } of seen) {
    if (voice?.ring === ring && !all) continue
    const next: Voice = all
      ? { ...voice!, isFounded: true }
      : { ring, node: randomUUID(), of: seen.length, isFounded: false, ballot: NO_BALLOT }
    const writes = [voiceWrite(next), ...(all ? [] : [jsonWrite(APPLIED, { slot: -1 } satisfies Applied)])]
    const position = await node.commit({ reads: [{ key: VOICE, version }], writes })
    if (position === undefined) return
  }
}

function checkAlike(place: string, nodes: number, known: readonly Seen[], isFounded: boolean): void {
  const first = known[0]
  for (const { node, voice } of known) {
    if (isFounded && voice!.ring !== first!.voice!.ring) {
      throw storeUnusable(
        place,
        `${first!.node.place} and ${node.place} belong to different rings. Name the nodes of one ring`,
      )
    }
    if (voice!.of !== nodes) {
      throw storeUnusable(
        place,
        `the ring was founded with ${voice!.of} nodes, not ${nodes}. Name all of them, and no others`,
      )
    }
    const twin = known.find(other => other.node !== node && other.voice!.node === voice!.node)
    if (twin) throw storeUnusable(place, `${twin.node.place} and ${node.place} are the same node`)
  }
}

function checkMajority(
  place: string,
  nodes: readonly QuorumNode[],
  seen: readonly Seen[],
  known: number,
  majority: number,
): void {
  if (known >= majority) return
  const emptied = seen.filter(({ voice }) => voice === undefined).map(({ node }) => node.place)
  if (emptied.length > nodes.length - majority) {
    throw storeUnusable(
      place,
      `${emptied.join(' and ')} have lost their data, and the other nodes are not a majority. Restore them from a backup`,
    )
  }
  throw storeUnavailable(place, troubleOf(nodes, `${majority} of ${nodes.length} nodes are needed`), 'not-done')
}

function troubleOf(nodes: readonly QuorumNode[], what: string): Error {
  const silent = nodes.filter(({ isSilent }) => isSilent)
  const reasons = silent.map(
    ({ place, trouble }) => `${place}: ${trouble instanceof Error ? trouble.message : 'silent'}`,
  )
  return new Error(`${what}; ${reasons.join('; ')}`, {
    cause: silent[0]?.trouble,
  })
}
