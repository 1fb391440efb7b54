import { describe, expect, test } from 'vitest'
import { type Ballot, NO_BALLOT } from './ballot.js'
import { decidedSlots } from './decided-slots.js'
import type { Accepted, Ask, NodeView, Reply } from './messages.js'
import { Proposer } from './proposer.js'
import { SlotReader } from './slot-reader.js'

const VOTERS = { nodes: 3, majority: 2 }

function accepted(round: number, id: string, previous = ''): Accepted<string> {
  return { ballot: { round, proposer: 'p' }, entry: { id, previous, value: id } }
}

function view(
  slots: Readonly<Record<number, Accepted<string>>>,
  ballot: Ballot = NO_BALLOT,
  version = 1,
): NodeView<string> {
  return {
    promised: { ballot, version },
    slots: new Map(Object.entries(slots).map(([slot, each]) => [Number(slot), each])),
    droppedTo: -1,
  }
}

function views(...all: readonly (NodeView<string> | undefined)[]): Map<number, NodeView<string>> {
  return new Map(all.flatMap((each, i) => (each ? [[i, each] as const] : [])))
}

describe('decided slots', () => {
  test('the last slot is decided if a majority has it in one ballot', () => {
    const found = decidedSlots(views(view({ 0: accepted(1, 'a') }), view({ 0: accepted(1, 'a') })), 0, VOTERS)
    expect([found.entries.map(({ id }) => id), found.open, found.isEnd]).toEqual([['a'], undefined, true])
  })

  test('the last slot is open while a silent node may complete a majority, and empty when no majority can have it', () => {
    const some = view({ 0: accepted(1, 'a') })
    expect(decidedSlots(views(some, view({})), 0, VOTERS).open?.slot).toBe(0)
    expect(decidedSlots(views(some, view({}), view({})), 0, VOTERS).open).toBeUndefined()
  })

  test('a majority with one entry in two ballots leaves the slot open: the lower ballot may have decided it', () => {
    const all = views(view({ 0: accepted(1, 'a') }), view({}), view({ 0: accepted(2, 'a') }))
    expect(decidedSlots(all, 0, VOTERS)).toMatchObject({ entries: [], open: { slot: 0, accepted: accepted(2, 'a') } })
  })

  test('a slot holds the entry that the next slot names, whatever else a node has there', () => {
    const all = views(
      view({ 0: accepted(3, 'x'), 1: accepted(2, 'b', 'a') }),
      view({ 0: accepted(1, 'a'), 1: accepted(2, 'b', 'a') }),
    )
    expect(decidedSlots(all, 0, VOTERS).entries.map(({ id }) => id)).toEqual(['a', 'b'])
  })
})

/** Real nodes in memory; those in `silent` do not answer. */
class Nodes {
  readonly silent = new Set<number>()
  readonly asked: string[] = []
  readonly #nodes = Array.from({ length: 3 }, () => ({
    promised: { ballot: NO_BALLOT, version: 1 },
    slots: new Map<number, Accepted<string>>(),
    droppedTo: -1,
  }))
  #version = 1

  do(ask: Ask<string>): Reply<string> {
    this.asked.push(ask.kind)
    if (this.silent.has(ask.node)) return { kind: 'lost' }
    const node = this.#nodes[ask.node]!
    if (ask.kind === 'read') {
      return { kind: 'view', view: { promised: node.promised, slots: new Map(node.slots), droppedTo: node.droppedTo } }
    }
    if (node.promised.version !== ask.version) return { kind: 'refused' }
    if (ask.kind === 'accept') node.slots.set(ask.slot, ask.accepted)
    else node.promised = { ballot: ask.ballot, version: ++this.#version }
    return { kind: 'done', version: node.promised.version }
  }

  /** As the nodes that are not silent see it. */
  drop(upTo: number): void {
    for (const [i, node] of this.#nodes.entries()) {
      if (this.silent.has(i)) continue
      node.droppedTo = upTo
      for (const slot of node.slots.keys()) if (slot <= upTo) node.slots.delete(slot)
    }
  }

  /** Everything is answered in the order in which it was asked. */
  append(proposer: Proposer<string>, slot: number, id?: string, previous = ''): string {
    const step = proposer.begin(slot, id === undefined ? undefined : { id, previous, value: id })
    const asks = [...step.asks]
    let { outcome } = step
    while (outcome === undefined) {
      const ask = asks.shift()!
      const next = proposer.answer(ask, this.do(ask))
      asks.push(...next.asks)
      outcome = next.outcome
    }
    // Answers that are still on their way arrive, and are ignored.
    for (const ask of asks) this.do(ask)
    return outcome.kind === 'taken' ? `taken ${outcome.slot}` : outcome.kind
  }

  look(first: number): string[] | string {
    const look = new SlotReader<string>(first, VOTERS)
    const asks = [...look.begin()]
    for (;;) {
      const ask = asks.shift()!
      const { asks: more, outcome } = look.answer(ask, this.do(ask))
      asks.push(...more)
      if (outcome?.kind === 'seen') return outcome.entries.map(({ id }) => id)
      if (outcome !== undefined) return outcome.kind
    }
  }
}

const proposerOf = (name: string) => new Proposer<string>({ name, ...VOTERS })

describe('proposing', () => {
  test('a proposer that keeps appending asks each node once for each entry', () => {
    const [nodes, proposer] = [new Nodes(), proposerOf('p')]
    expect(nodes.append(proposer, 0, 'a')).toBe('appended')
    nodes.asked.length = 0
    expect(nodes.append(proposer, 1, 'b', 'a')).toBe('appended')
    expect(nodes.asked).toEqual(['accept', 'accept', 'accept'])
    expect(nodes.look(0)).toEqual(['a', 'b'])
  })

  test('an outbid proposer learns which entry has the slot, and never has the slot too', () => {
    const [nodes, p, q] = [new Nodes(), proposerOf('p'), proposerOf('q')]
    expect(nodes.append(p, 0, 'a')).toBe('appended')
    expect(nodes.append(q, 1, 'b', 'a')).toBe('appended')
    expect(nodes.append(p, 1, 'c', 'a')).toBe('outbid')
    expect(nodes.append(p, 1, 'c', 'a')).toBe('taken 1')
    expect(nodes.look(0)).toEqual(['a', 'b'])
  })

  test('an entry that one node accepted from a dead proposer is taken over', () => {
    const [nodes, p, q] = [new Nodes(), proposerOf('p'), proposerOf('q')]
    expect(nodes.append(p, 0, 'a')).toBe('appended')
    nodes.silent.add(1).add(2)
    expect(nodes.append(p, 1, 'b', 'a')).toBe('lost')
    nodes.silent.clear()
    nodes.silent.add(2)
    expect(nodes.append(q, 1, 'c', 'a')).toBe('taken 1')
    expect(nodes.look(1)).toEqual(['b'])
  })

  test('after an append with an unknown outcome nothing else is proposed in the same ballot', () => {
    const [nodes, proposer] = [new Nodes(), proposerOf('p')]
    expect(nodes.append(proposer, 0, 'a')).toBe('appended')
    nodes.silent.add(0).add(1)
    expect(nodes.append(proposer, 1, 'b', 'a')).toBe('lost')
    nodes.silent.clear()
    expect(nodes.append(proposer, 1, 'c', 'a')).toBe('taken 1')
    expect(nodes.look(1)).toEqual(['b'])
  })

  test('a read from before a promise does not count as a recall', () => {
    const proposer = proposerOf('p')
    const entry = { id: 'a', previous: '', value: 'a' }
    const reads = proposer.begin(0, entry).asks
    const empty: Reply<string> = { kind: 'view', view: view({}) }
    proposer.answer(reads[0]!, empty)
    proposer.answer(reads[1]!, empty)
    const promises = proposer.proceed().asks
    expect(promises.map(({ kind, node }) => [kind, node])).toEqual([
      ['promise', 0],
      ['promise', 1],
    ])
    for (const ask of promises) proposer.answer(ask, { kind: 'done', version: 2 })
    // The first reads come again, and one comes late.
    for (const ask of reads) expect(proposer.answer(ask, empty)).toEqual({ asks: [] })
    expect(proposer.canProceed).toBe(false)
  })

  test('a reader passes on what one node has, and outbids no proposer', () => {
    const [nodes, proposer] = [new Nodes(), proposerOf('p')]
    expect(nodes.append(proposer, 0, 'a')).toBe('appended')
    nodes.silent.add(1).add(2)
    expect(nodes.append(proposer, 1, 'b', 'a')).toBe('lost')
    nodes.silent.delete(1)
    nodes.asked.length = 0
    expect(nodes.look(1)).toEqual(['b'])
    expect(nodes.asked).toEqual(['read', 'read', 'read', 'accept'])
  })

  test('nodes without a promise have no voice', () => {
    const proposer = proposerOf('p')
    const { asks } = proposer.begin(0, { id: 'a', previous: '', value: 'a' })
    const emptied: Reply<string> = { kind: 'view', view: { promised: undefined, slots: new Map(), droppedTo: -1 } }
    proposer.answer(asks[0]!, { kind: 'view', view: view({}) })
    proposer.answer(asks[1]!, emptied)
    expect(proposer.answer(asks[2]!, emptied).outcome).toEqual({ kind: 'lost' })
  })
})

describe('dropped slots', () => {
  test('are not free for a proposer that slept meanwhile, and a reader learns that they are gone', () => {
    const [nodes, awake, sleeper] = [new Nodes(), ...proposers()]
    expect(nodes.append(sleeper, 0, 'a')).toBe('appended')
    for (const [slot, id, previous] of [
      [1, 'b', 'a'],
      [2, 'c', 'b'],
      [3, 'd', 'c'],
    ] as const) {
      expect(nodes.append(awake, slot, id, previous)).toBe('appended')
    }
    nodes.drop(2)
    expect(nodes.append(sleeper, 1, 'x', 'a')).toBe('outbid')
    expect(nodes.append(sleeper, 1, 'x', 'a')).toBe('taken 2')
    expect([nodes.look(1), nodes.look(3)]).toEqual(['gone', ['d']])
    expect(nodes.append(sleeper, 4, 'x', 'd')).toBe('appended')
  })

  test('are not filled from an old entry of a node that slept meanwhile', () => {
    const [nodes, awake, sleeper] = [new Nodes(), ...proposers()]
    expect(nodes.append(awake, 0, 'a')).toBe('appended')
    nodes.silent.add(1).add(2)
    expect(nodes.append(awake, 1, 'lost', 'a')).toBe('lost')
    nodes.silent.clear()
    nodes.silent.add(0)
    expect(nodes.append(sleeper, 1, 'b', 'a')).toBe('appended')
    expect(nodes.append(sleeper, 2, 'c', 'b')).toBe('appended')
    nodes.drop(2)
    nodes.silent.clear()
    nodes.silent.add(2)
    const other = new Proposer<string>({ name: 'r', ...VOTERS })
    expect(nodes.append(other, 1, 'y', 'a')).toBe('taken 2')
    expect(nodes.look(1)).toBe('gone')
  })
})

function proposers(): [Proposer<string>, Proposer<string>] {
  return [proposerOf('p'), new Proposer<string>({ name: 'q', ...VOTERS })]
}
