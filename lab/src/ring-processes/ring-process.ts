/** Some peers in a process of their own. Commands come over IPC; each answer carries its command's number. */
import type { ChordTables, InsertOutcome, Peer, RetrieveOutcome, RingPeerOptions, Roster } from '@freshet/dht'
import { TcpRingPeer } from '@freshet/dht/tcp'

/** The options that can be sent. `handsOver` cannot: all counters are handed over. */
export type SentOptions = Omit<RingPeerOptions, 'handsOver'>

export interface RingCommands {
  /** The peers' numbers are ports; 0: any free port. */
  start: [{ ports: readonly number[]; options: SentOptions }, Peer[]]
  /** Joins through another peer; the first peer of a ring has none. */
  enter: [{ peer: Peer; via?: Peer }, boolean]
  tables: [object, [Peer, ChordTables][]]
  /** Undefined if the peer was gone before the insert was done. */
  insert: [{ peer: Peer; key: string; value: unknown; isBrk: boolean }, InsertOutcome | undefined]
  retrieve: [{ peer: Peer; key: string; isBrk: boolean }, RetrieveOutcome | undefined]
  leave: [{ peer: Peer }, boolean]
  /** Removes the counter for this key from all peers here, as if its responsible had failed. */
  forget: [{ key: string }, object]
  roster: [Roster, number]
}

export type RingCommand<K extends keyof RingCommands = keyof RingCommands> = K extends keyof RingCommands
  ? { readonly id: number; readonly kind: K } & RingCommands[K][0]
  : never

export interface RingReply {
  readonly id: number
  readonly result: unknown
}

const peers = new Map<Peer, TcpRingPeer>()

process.on('message', (command: RingCommand) => {
  void obey(command).then(result => process.send?.({ id: command.id, result } satisfies RingReply))
})
process.once('disconnect', () => process.exit())

async function obey(command: RingCommand): Promise<unknown> {
  switch (command.kind) {
    case 'start':
      return start(command.ports, command.options)
    case 'enter':
      return enter(hosted(command.peer), command.via)
    case 'tables':
      return [...peers].map(([peer, { peer: own }]) => [peer, own.chord.tables])
    case 'insert':
      return peers
        .get(command.peer)
        ?.perform<InsertOutcome>(({ updates, versions }, then) =>
          (command.isBrk ? versions : updates).insert(command.key, command.value, performance.now(), then),
        )
    case 'retrieve':
      return peers
        .get(command.peer)
        ?.perform<RetrieveOutcome>(({ updates, versions }, then) =>
          (command.isBrk ? versions : updates).retrieve(command.key, performance.now(), then),
        )
    case 'forget':
      for (const { peer } of peers.values()) peer.timestamps.drop(command.key)
      return {}
    case 'leave':
      return leave(hosted(command.peer))
    case 'roster':
      return adopt(command)
  }
}

function hosted(peer: Peer): TcpRingPeer {
  const found = peers.get(peer)
  if (found === undefined) throw new Error(`Peer ${peer} is not in this process.`)
  return found
}

async function start(ports: readonly number[], options: SentOptions): Promise<Peer[]> {
  for (const port of ports) {
    const added = await TcpRingPeer.start({ ...options, handsOver: () => true }, port)
    peers.set(added.peer.self, added)
  }
  return [...peers.keys()]
}

async function enter({ peer }: TcpRingPeer, via: Peer | undefined): Promise<boolean> {
  if (via === undefined) peer.chord.begin(performance.now())
  const hasJoined = via === undefined || (await new Promise<boolean>(done => peer.join(via, performance.now(), done)))
  if (hasJoined) peer.start(50)
  return hasJoined
}

async function leave(leaving: TcpRingPeer): Promise<boolean> {
  const isHanded = await new Promise<boolean>(done => leaving.peer.leave(performance.now(), done))
  leaving.stop()
  peers.delete(leaving.peer.self)
  return isHanded
}

/** Returns how many of the peers here vote under this roster. */
function adopt({ version, members, before }: Roster): number {
  const own = [...peers.values()].map(({ peer }) => peer)
  for (const peer of own) peer.adoptRoster({ version, members, before }, performance.now())
  return own.filter(({ self, guard }) => members.includes(self) && guard.roster.version === version && guard.isReady)
    .length
}
