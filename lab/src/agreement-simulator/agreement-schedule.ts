/**
 * One schedule of everything that can go wrong, drawn from a seed. Servers append to a log that three or five nodes remember
 * (`core/agreement`), and read it, while messages are lost, doubled, late and out of order, nodes crash and come back, with their
 * memory or without it, servers are killed and others take their place, and the network is partitioned. Old decided slots are
 * dropped, even while a server that does not know of them sleeps. The checks:
 *
 * - no two servers learn different values for a slot;
 * - a read sees everything that any node knew to be decided when the read began.
 */
import {
  type AppendOutcome,
  type Ask,
  type Entry,
  majorityOf,
  Proposer,
  type Reply,
  SlotReader,
  type Step,
  type Voters,
} from '@freshet/core/agreement'
import { Schedule, type ScheduleResult, type ScheduleSettings } from '../simulator/schedule.js'
import type { PlantedBug } from './planted-bugs.js'
import { SimulatedNode } from './simulated-node.js'

const COUNTED = {
  counts: ['decided', 'appended', 'looks', 'lateAppends', 'lateAppended'],
  faults: ['node crash', 'server crash', 'emptied', 'rebuilt', 'dropped', 'overslept'],
} as const

const SERVERS = 3
const APPEND_MS_MAX = 300
const ASK_MS_MAX = 120

/**
 * `lateAppends` counts the appends after the faults have ended, `lateAppended` those of them that succeeded.
 */
export function runSchedule(settings: ScheduleSettings<PlantedBug>): ScheduleResult<typeof COUNTED> {
  return new AgreementSchedule(settings).run()
}

interface Server {
  readonly name: string
  readonly proposer: Proposer<string>
  /** What the server knows of the log, from slot 0 on. */
  readonly known: string[]
  /** The last slot that the server knows to have been dropped. */
  droppedTo: number
  /** The entry that the server could not append, and may try again. */
  unsettled: Entry<string> | undefined
  isBusy: boolean
  isDown: boolean
}

/** Nodes by their number, servers by their name. */
class AgreementSchedule extends Schedule<string | number, typeof COUNTED> {
  readonly #bug: PlantedBug | undefined
  readonly #voters: Voters
  readonly #nodes: SimulatedNode[]
  readonly #servers: Server[] = []
  readonly #decided: string[] = []
  #names = 0
  /** The last slot that any server has asked the nodes to drop. */
  #droppedTo = -1

  constructor({ seed, bug }: ScheduleSettings<PlantedBug>) {
    super({
      ...{ seed, counted: COUNTED, troubleMs: 2000, calmMs: 1500 },
      ...{ delayMsMax: 15, lateMsMax: 800, doubledMsMax: 600 },
      ratesMax: { lost: 0.15, late: 0.1, doubled: 0.1 },
    })
    this.#bug = bug
    const nodes = this.random.float() < 0.7 ? 3 : 5
    this.#voters = { nodes, majority: majorityOf(nodes) - (bug === 'a minority' ? 1 : 0) }
    this.#nodes = Array.from({ length: nodes }, () => new SimulatedNode())
    for (let i = 0; i < SERVERS; i++) this.#servers.push(this.#start())
  }

  run(): ScheduleResult<typeof COUNTED> {
    this.plan(24, () => this.#operate())
    this.plan(this.random.below(6), () => this.#harm())
    // This bug shows only after a crash at the right moment.
    if (this.#bug === 'forgotten promise') this.plan(15, () => this.#crashNode())
    this.queue.runUntil(this.troubleMs)
    this.network.heal()
    for (const node of this.#nodes) node.isUp = true
    this.queue.after(this.calmMs / 2, () => this.#appendLate())
    this.queue.runUntil(this.troubleMs + this.calmMs)
    this.counts.decided = this.#decided.length
    return this.result
  }

  #start(): Server {
    const name = `server-${this.#names++}`
    const proposer = new Proposer<string>({ name, ...this.#voters })
    return { name, proposer, known: [], droppedTo: -1, unsettled: undefined, isBusy: false, isDown: false }
  }

  // The operations of servers.

  #operate(): void {
    const server = this.random.pick(this.#servers)
    const what = this.random.float()
    if (what < 0.1) this.#drop(server)
    else if (what < 0.6) this.#append(server)
    else if (what < 0.7 && this.#nodes.some(node => node.isEmptied)) this.#rebuild(server)
    else this.#look(server)
  }

  #appendLate(): void {
    const server = this.#servers[0]!
    this.counts.lateAppends++
    let tries = 0
    const again = () => {
      if (tries++ < 12)
        this.#append(server, hasDone => (hasDone ? this.counts.lateAppended++ : this.queue.after(20, again)))
    }
    // An operation that was under way on this server is over by then.
    again()
  }

  #append(server: Server, then: (isAppended: boolean) => void = () => {}): void {
    if (server.isBusy || server.isDown) {
      then(false)
      return
    }
    server.isBusy = true
    // A server that believes to be the only writer does not read before it appends.
    const begin = (work: () => void) => (this.random.float() < 0.3 ? work() : this.#look(server, work))
    begin(() => {
      const slot = server.known.length
      const previous = server.known.at(-1) ?? ''
      const kept = server.unsettled
      const isKept = kept !== undefined && kept.previous === previous && this.random.float() < 0.7
      const id = `${server.name}-${this.#names++}`
      const entry = isKept ? kept : { id, previous, value: id }
      server.unsettled = entry
      this.#propose(server, slot, entry, outcome => {
        server.isBusy = false
        if (outcome.kind === 'appended') {
          this.#claim(server, slot, entry.id)
          this.counts.appended++
        }
        then(outcome.kind === 'appended')
        if (outcome.kind !== 'appended' || this.random.float() < 0.3) this.#look(server)
        // A server that keeps winning continues.
        else if (this.random.float() < 0.6) this.#append(server)
      })
    })
  }

  #propose(
    server: Server,
    slot: number,
    entry: Entry<string> | undefined,
    then: (outcome: AppendOutcome) => void,
  ): void {
    const { proposer } = server
    let isOver = false
    const end = (outcome: AppendOutcome) => {
      if (isOver || server.isDown) return
      isOver = true
      then(outcome)
    }
    const take = ({ asks, outcome }: Step<string, AppendOutcome>) => {
      for (const ask of asks) this.#send(server, ask, reply => isOver || take(proposer.answer(ask, this.#heard(reply))))
      if (outcome !== undefined) end(outcome)
      else if (proposer.canProceed) this.queue.after(this.random.below(20), () => isOver || take(proposer.proceed()))
    }
    take(proposer.begin(slot, entry))
    this.queue.after(APPEND_MS_MAX, () => {
      if (isOver || server.isDown) return
      proposer.giveUp()
      end({ kind: 'lost' })
    })
  }

  #heard(reply: Reply<string>): Reply<string> {
    if (this.#bug !== 'not taken over' || reply.kind !== 'view') return reply
    return { kind: 'view', view: { ...reply.view, slots: new Map() } }
  }

  #look(server: Server, then: () => void = () => {}): void {
    if (server.isDown) return
    const first = server.known.length
    // The read must see everything known by now.
    const floor = this.#decided.length
    const look = new SlotReader<string>(first, this.#voters)
    let isOver = false
    const take = ({ asks, outcome }: ReturnType<typeof look.answer>) => {
      for (const ask of asks) this.#send(server, ask, reply => isOver || take(look.answer(ask, reply)))
      if (outcome === undefined) {
        if (look.canProceed) this.queue.after(this.random.below(20), () => isOver || take(look.proceed()))
        return
      }
      isOver = true
      if (server.isDown) return
      this.counts.looks++
      if (outcome.kind === 'gone') {
        this.#oversleep(server, first, then)
        return
      }
      if (outcome.kind !== 'lost')
        for (const [i, { id }] of outcome.entries.entries()) this.#claim(server, first + i, id)
      if (outcome.kind === 'seen' && outcome.isEnd && first + outcome.entries.length < floor) {
        this.violate(`${server.name} saw ${first + outcome.entries.length} slots, and ${floor} were decided`)
      }
      if (outcome.kind === 'seen' && !outcome.isEnd) this.#look(server, then)
      else then()
    }
    take({ asks: look.begin() })
  }

  /** Drops slots that a server knows to be decided, on the nodes that receive the message. */
  #drop(server: Server): void {
    if (server.isDown || server.known.length < 2) return
    const upTo = this.random.below(server.known.length - 1)
    this.faults.dropped++
    server.droppedTo = Math.max(server.droppedTo, upTo)
    this.#droppedTo = Math.max(this.#droppedTo, upTo)
    for (const [i, node] of this.#nodes.entries()) {
      this.network.send(server.name, i, () => {
        if (node.isUp) node.drop(upTo)
        if (this.#bug === 'dropped and forgotten') node.forgetDropped()
      })
    }
  }

  /** The next slots are gone. The server continues where the log begins now, with the rows that earlier slots left. */
  #oversleep(server: Server, first: number, then: () => void): void {
    this.faults.overslept++
    const droppedTo = this.#droppedTo
    if (first > droppedTo) {
      this.violate(`${server.name} believes that slot ${first} was dropped, but it was not`)
      return
    }
    server.known.push(...this.#decided.slice(server.known.length, droppedTo + 1))
    server.droppedTo = droppedTo
    this.#look(server, then)
  }

  /** Gives a node that has lost its memory what a majority of the other nodes has. */
  #rebuild(server: Server): void {
    if (server.isBusy || server.isDown) return
    server.isBusy = true
    this.#look(server, () =>
      this.#propose(server, server.known.length, undefined, () => {
        const { tenure } = server.proposer
        this.#look(server, () => {
          server.isBusy = false
          if (tenure === undefined || server.known.length < tenure.next) return
          for (const node of this.#nodes) {
            if (!node.isEmptied || !node.isUp) continue
            node.adopt(tenure.ballot, server.known.slice(0, tenure.next), Math.min(server.droppedTo, tenure.next - 1))
            this.faults.rebuilt++
          }
        })
      }),
    )
  }

  #claim(server: Server, slot: number, id: string): void {
    const decided = this.#decided[slot]
    if (decided === undefined && slot > this.#decided.length)
      this.violate(`${server.name} left a gap before slot ${slot}`)
    if (decided !== undefined && decided !== id)
      this.violate(`slot ${slot} holds ${decided}, and ${id} for ${server.name}`)
    this.#decided[slot] ??= id
    if (server.known.length === slot) server.known.push(id)
    if (server.unsettled?.id === id) server.unsettled = undefined
  }

  // The faults.

  #send(server: Server, ask: Ask<string>, then: (reply: Reply<string>) => void): void {
    const node = this.#nodes[ask.node]!
    const hear = (reply: Reply<string>) => {
      if (!server.isDown) then(reply)
    }
    this.network.send(server.name, ask.node, () => {
      if (!node.isUp) return
      const reply = node.do(ask)
      this.network.send(ask.node, server.name, () => hear(reply))
    })
    this.queue.after(ASK_MS_MAX, () => hear({ kind: 'lost' }))
  }

  #harm(): void {
    const what = this.random.float()
    if (what < 0.35) this.#crashNode()
    else if (what < 0.6) this.#crashServer()
    else if (what < 0.85) this.#split()
    else this.#emptyNode()
  }

  #crashNode(node: SimulatedNode = this.random.pick(this.#nodes)): void {
    this.faults['node crash']++
    node.isUp = false
    this.queue.after(10 + this.random.below(500), () => {
      node.isUp = true
      if (this.#bug === 'forgotten promise') node.forgetPromise()
    })
  }

  /** The disk of a node is lost, but only while a majority still remembers. */
  #emptyNode(): void {
    const node = this.random.pick(this.#nodes)
    const left = this.#nodes.filter(each => each !== node && !each.isEmptied).length
    if (left < majorityOf(this.#nodes.length)) return
    this.faults.emptied++
    this.#crashNode(node)
    node.empty()
    if (this.#bug === 'emptied voter') node.vote()
    for (const server of this.#servers) this.queue.after(this.random.below(600), () => this.#rebuild(server))
  }

  #crashServer(): void {
    this.faults['server crash']++
    const at = this.random.below(this.#servers.length)
    this.#servers[at]!.isDown = true
    this.#servers[at] = this.#start()
  }

  /** Partitions each server from some nodes. */
  #split(): void {
    const cut = new Set<string>()
    for (const { name } of this.#servers) {
      for (const node of this.#nodes.keys()) if (this.random.float() < 0.4) cut.add(`${name} ${node}`)
    }
    const isCut = (from: string | number, to: string | number) => cut.has(`${from} ${to}`) || cut.has(`${to} ${from}`)
    this.network.partition(isCut, 50 + this.random.below(600))
  }
}
