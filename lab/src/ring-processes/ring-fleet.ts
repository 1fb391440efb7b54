/** A ring of real peers in several processes, and the one authority over its membership. */
import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type InsertOutcome, type Peer, positionOfPeer, type RetrieveOutcome, type Roster } from '@freshet/dht'
import type { RingCommands, RingReply, SentOptions } from './ring-process.js'

const PROCESS = fileURLToPath(new URL('../../dist/ring-processes/ring-process.js', import.meta.url))
const DEADLINE_MS = 60_000

/** Thrown when a process has ended, so that its answers cannot come. */
export class ProcessEnded extends Error {}

class RingProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>()
  #lastId = 0

  constructor() {
    this.#child = fork(PROCESS, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child.on('message', ({ id, result }: RingReply) => {
      this.#waiting.get(id)?.resolve(result as never)
      this.#waiting.delete(id)
    })
    this.#child.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new ProcessEnded('The process ended before it answered.'))
      this.#waiting.clear()
    })
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  ask<K extends keyof RingCommands>(kind: K, command: RingCommands[K][0]): Promise<RingCommands[K][1]> {
    if (this.hasEnded) return Promise.reject(new ProcessEnded('The process has ended.'))
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ id, kind, ...command })
    })
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

export class RingFleet {
  readonly #options: SentOptions
  readonly #homes = new Map<Peer, RingProcess>()
  #roster: Roster = { version: 0, members: [], before: [] }

  private constructor(options: SentOptions) {
    this.#options = options
  }

  /** With `voting` in the options all peers are members. */
  static async start(processes: number, peersEach: number, options: SentOptions): Promise<RingFleet> {
    const fleet = new RingFleet(options)
    for (let i = 0; i < processes; i++) await fleet.addProcess(peersEach)
    await fleet.settle()
    if (options.voting !== undefined) await fleet.#publish({ version: 1, members: fleet.peers, before: [] })
    return fleet
  }

  get peers(): Peer[] {
    return [...this.#homes.keys()]
  }

  /** Starts a process whose peers join the ring. They are not members yet. */
  async addProcess(count: number): Promise<Peer[]> {
    return this.#add(Array.from({ length: count }, () => 0))
  }

  /** The same peers as before they were killed and removed, but without their memory. */
  async rejoin(peers: readonly Peer[]): Promise<void> {
    await this.#add(peers)
    for (const peer of peers) await this.addMember(peer)
  }

  async #add(ports: readonly number[]): Promise<Peer[]> {
    const home = new RingProcess()
    const added = await home.ask('start', { ports, options: this.#options })
    for (const peer of added) {
      const via = this.peers[0]
      await waitFor(() => home.ask('enter', { peer, ...(via !== undefined && { via }) }), `peer ${peer} to join`)
      this.#homes.set(peer, home)
    }
    return added
  }

  /** Waits until each peer knows its true successor. */
  async settle(): Promise<void> {
    await waitFor(async () => {
      const tables = (await Promise.all(this.#processes().map(home => home.ask('tables', {})))).flat()
      const ring = tables.map(([peer]) => peer).sort((a, b) => positionOfPeer(a) - positionOfPeer(b))
      const next = new Map(ring.map((peer, i) => [peer, ring[(i + 1) % ring.length]!]))
      return tables.every(([peer, { successors }]) => successors[0] === next.get(peer))
    }, 'the ring to be complete')
  }

  async insert(peer: Peer, key: string, value: unknown, isBrk: boolean = false): Promise<InsertOutcome> {
    return orEnded(peer, await this.#home(peer).ask('insert', { peer, key, value, isBrk }))
  }

  async retrieve(peer: Peer, key: string, isBrk: boolean = false): Promise<RetrieveOutcome> {
    return orEnded(peer, await this.#home(peer).ask('retrieve', { peer, key, isBrk }))
  }

  /** Loses the counter of this key, as if its responsible had failed. */
  async forget(key: string): Promise<void> {
    await Promise.all(this.#processes().map(home => home.ask('forget', { key })))
  }

  /** Leaves in good order: out of the ring first, then out of the roster. */
  async leave(peer: Peer): Promise<void> {
    const home = this.#home(peer)
    this.#homes.delete(peer)
    await home.ask('leave', { peer })
    await this.removeMember(peer)
  }

  /** Kills the process of this peer, and with it all its peers, whose memory is lost. They stay members until removed. */
  kill(peer: Peer): Peer[] {
    const home = this.#home(peer)
    home.kill()
    const lost = this.peers.filter(other => this.#homes.get(other) === home)
    for (const other of lost) this.#homes.delete(other)
    return lost
  }

  async addMember(peer: Peer): Promise<void> {
    await this.#change([...this.#roster.members, peer])
  }

  async removeMember(peer: Peer): Promise<void> {
    await this.#change(this.#roster.members.filter(member => member !== peer))
  }

  stop(): void {
    for (const home of this.#processes()) home.kill()
  }

  #change(members: readonly Peer[]): Promise<void> {
    const { version, members: before } = this.#roster
    return this.#publish({ version: version + 1, members, before })
  }

  async #publish(roster: Roster): Promise<void> {
    this.#roster = roster
    await waitFor(async () => {
      const ready = await Promise.all(this.#processes().map(home => home.ask('roster', roster)))
      return ready.reduce((sum, count) => sum + count, 0) > roster.members.length / 2
    }, `a majority to vote under roster ${roster.version}`)
  }

  #processes(): RingProcess[] {
    return [...new Set(this.#homes.values())]
  }

  #home(peer: Peer): RingProcess {
    const home = this.#homes.get(peer)
    if (home === undefined) throw new ProcessEnded(`Peer ${peer} has left the ring.`)
    return home
  }
}

function orEnded<Result>(peer: Peer, result: Result | undefined): Result {
  if (result === undefined) throw new ProcessEnded(`Peer ${peer} was stopped before it answered.`)
  return result
}

async function waitFor(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + DEADLINE_MS
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`Waited ${DEADLINE_MS / 1000} s for ${what}, without success.`)
    await sleep(20)
  }
}
