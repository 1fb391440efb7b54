/**
 * Are these transactions serialisable? Each appends numbers to lists, no number twice, and reads whole lists. The final lists and
 * the lists that were read show the order of the writers. From that order follows which transaction must precede which:
 *
 *     ww  both appended to a list, one directly after the other
 *     wr  one read the last number that the other appended
 *     rw  one read a list, and the other appended the next number
 *
 * If a transaction must precede itself, the history is not serialisable. The edges of the cycle give the anomaly its name (Adya
 * 1999): only ww, G0; ww and wr, G1c; one rw, G-single (lost update, read skew); several, G2 (write skew). This is the method of
 * Elle (Kingsbury and Alvaro 2020), restricted to lists.
 */
export type Operation =
  | { readonly kind: 'append'; readonly key: string; readonly value: number }
  | { readonly kind: 'read'; readonly key: string; readonly values: readonly number[] }
  /** All lists of a group: lists that it did not find did not exist. */
  | { readonly kind: 'query'; readonly group: string; readonly found: ReadonlyMap<string, readonly number[]> }

type Single = Exclude<Operation, { readonly kind: 'query' }>

/** A transaction whose queries are split: each becomes a read of every list that ever was in its group. */
interface TakenApart extends Omit<RecordedTransaction, 'operations'> {
  readonly operations: readonly Single[]
}

/** The permanent group of a list: its name up to the point. */
export function groupOf(key: string): string {
  return key.slice(0, key.indexOf('.'))
}

export interface RecordedTransaction {
  readonly id: number
  /** 'unknown': the answer to its commit was lost. */
  readonly outcome: 'committed' | 'aborted' | 'unknown'
  /** In execution order. Reads include what the transaction itself had appended before. */
  readonly operations: readonly Operation[]
}

export interface Anomaly {
  readonly name: 'G0' | 'G1a' | 'G1b' | 'G1c' | 'G-single' | 'G2' | 'incompatible order' | 'duplicate' | 'lost append'
  /** In words, with the numbers of the transactions. */
  readonly trace: string
}

type EdgeKind = 'ww' | 'wr' | 'rw'

interface Edge {
  readonly to: number
  readonly kind: EdgeKind
  readonly key: string
}

/** `finalLists`: all lists, read after everything had ended. */
export function checkListAppends(
  transactions: readonly RecordedTransaction[],
  finalLists: ReadonlyMap<string, readonly number[]>,
): readonly Anomaly[] {
  const history = new History(transactions, finalLists)
  return [...history.badReads(), ...history.lostAppends(), ...history.cycles()]
}

class History {
  readonly #transactions: readonly TakenApart[]
  readonly #finalLists: ReadonlyMap<string, readonly number[]>
  readonly #byId: ReadonlyMap<number, TakenApart>
  /** The transaction that appended a number to a list. */
  readonly #writers = new Map<string, number>()

  constructor(transactions: readonly RecordedTransaction[], finalLists: ReadonlyMap<string, readonly number[]>) {
    this.#finalLists = finalLists
    for (const { id, operations } of transactions) {
      for (const each of operations) if (each.kind === 'append') this.#writers.set(nameOf(each.key, each.value), id)
    }
    const seen = new Set(
      [...finalLists].flatMap(([key, values]) => values.map(value => this.#writers.get(nameOf(key, value)))),
    )
    // A transaction whose answer was lost counts as committed if any of its numbers is there.
    const settle = ({ id, outcome }: RecordedTransaction) =>
      outcome !== 'unknown' ? outcome : seen.has(id) ? 'committed' : 'aborted'
    const keys = [...finalLists.keys()]
    this.#transactions = transactions.map(each => ({
      ...each,
      outcome: settle(each),
      operations: each.operations.flatMap(operation => takeApart(operation, keys)),
    }))
    this.#byId = new Map(this.#transactions.map(each => [each.id, each]))
  }

  badReads(): Anomaly[] {
    const anomalies: Anomaly[] = []
    for (const [key, values] of this.#finalLists) {
      if (new Set(values).size < values.length)
        anomalies.push({ name: 'duplicate', trace: `${key} ended as ${values}` })
    }
    for (const { reader, key, values } of this.#foreignReads()) anomalies.push(...this.#judgeRead(reader, key, values))
    return anomalies
  }

  lostAppends(): Anomaly[] {
    return this.#committed().flatMap(({ id, operations }) =>
      operations.flatMap((each): Anomaly[] => {
        if (each.kind === 'read' || this.#finalLists.get(each.key)?.includes(each.value)) return []
        return [{ name: 'lost append', trace: `T${id} appended ${each.value} to ${each.key}, and it is missing` }]
      }),
    )
  }

  cycles(): Anomaly[] {
    const edges = this.#edges()
    return components(edges).map(members => {
      const cycle = shortestCycle(edges, members)
      const trace = cycle.map(({ from, edge }) => `T${from} -${edge.kind} ${edge.key}-> T${edge.to}`).join(', ')
      return { name: nameOfCycle(cycle.map(({ edge }) => edge.kind)), trace }
    })
  }

  #judgeRead(reader: number, key: string, values: readonly number[]): Anomaly[] {
    const order = this.#finalLists.get(key) ?? []
    const writers = values.map(value => this.#writers.get(nameOf(key, value)))
    const aborted = writers.find(writer => writer === undefined || this.#byId.get(writer)!.outcome === 'aborted')
    if (writers.length > 0 && (aborted !== undefined || writers.includes(undefined))) {
      return [{ name: 'G1a', trace: `T${reader} read ${key} as ${values}, including an append of aborted T${aborted}` }]
    }
    if (values.some((value, i) => order[i] !== value)) {
      return [{ name: 'incompatible order', trace: `T${reader} read ${key} as ${values}, but it became ${order}` }]
    }
    const last = writers.at(-1)
    const next = this.#writers.get(nameOf(key, order[values.length] ?? Number.NaN))
    if (last === undefined || last !== next || last === reader) return []
    return [{ name: 'G1b', trace: `T${reader} read ${key} as ${values}, between two appends of T${last}` }]
  }

  #edges(): ReadonlyMap<number, readonly Edge[]> {
    const edges = new Map<number, Edge[]>(this.#committed().map(({ id }) => [id, []]))
    const add = (from: number | undefined, to: number | undefined, kind: EdgeKind, key: string) => {
      if (from !== undefined && to !== undefined && from !== to) edges.get(from)?.push({ to, kind, key })
    }
    for (const [key, values] of this.#finalLists) {
      const writers = values.map(value => this.#writers.get(nameOf(key, value)))
      writers.forEach((writer, i) => {
        add(writers[i - 1], writer, 'ww', key)
      })
    }
    for (const { reader, key, values } of this.#foreignReads()) {
      const order = this.#finalLists.get(key) ?? []
      add(this.#writers.get(nameOf(key, values.at(-1) ?? Number.NaN)), reader, 'wr', key)
      add(reader, this.#writers.get(nameOf(key, order[values.length] ?? Number.NaN)), 'rw', key)
    }
    return edges
  }

  /** Reads without what the reader itself had appended by then. */
  *#foreignReads(): Generator<{ reader: number; key: string; values: readonly number[] }> {
    for (const { id, operations } of this.#committed()) {
      const own = new Map<string, number>()
      for (const each of operations) {
        const appended = own.get(each.key) ?? 0
        if (each.kind === 'append') own.set(each.key, appended + 1)
        else yield { reader: id, key: each.key, values: each.values.slice(0, each.values.length - appended) }
      }
    }
  }

  #committed(): readonly TakenApart[] {
    return this.#transactions.filter(({ outcome }) => outcome === 'committed')
  }
}

function takeApart(operation: Operation, keys: readonly string[]): readonly Single[] {
  if (operation.kind !== 'query') return [operation]
  const { group, found } = operation
  const all = new Set([...found.keys(), ...keys.filter(key => groupOf(key) === group)])
  return [...all].map(key => ({ kind: 'read', key, values: found.get(key) ?? [] }))
}

function nameOf(key: string, value: number): string {
  return `${key} ${value}`
}

function nameOfCycle(kinds: readonly EdgeKind[]): Anomaly['name'] {
  const antiDependencies = kinds.filter(kind => kind === 'rw').length
  if (antiDependencies > 1) return 'G2'
  if (antiDependencies === 1) return 'G-single'
  return kinds.includes('wr') ? 'G1c' : 'G0'
}

/** The strongly connected components with more than one member (Tarjan 1972, without recursion). */
function components(edges: ReadonlyMap<number, readonly Edge[]>): ReadonlySet<number>[] {
  const index = new Map<number, number>()
  const low = new Map<number, number>()
  const stack: number[] = []
  const onStack = new Set<number>()
  const found: Set<number>[] = []
  for (const root of edges.keys()) {
    if (index.has(root)) continue
    const path: { node: number; next: number }[] = [{ node: root, next: 0 }]
    while (path.length > 0) {
      const frame = path.at(-1)!
      const { node } = frame
      if (frame.next === 0) {
        index.set(node, index.size)
        low.set(node, index.get(node)!)
        stack.push(node)
        onStack.add(node)
      }
      const edge = edges.get(node)?.[frame.next++]
      if (edge !== undefined) {
        if (!index.has(edge.to)) path.push({ node: edge.to, next: 0 })
        else if (onStack.has(edge.to)) low.set(node, Math.min(low.get(node)!, index.get(edge.to)!))
        continue
      }
      path.pop()
      const parent = path.at(-1)?.node
      if (parent !== undefined) low.set(parent, Math.min(low.get(parent)!, low.get(node)!))
      if (low.get(node) !== index.get(node)) continue
      const members = new Set(stack.splice(stack.lastIndexOf(node)))
      for (const member of members) onStack.delete(member)
      if (members.size > 1) found.push(members)
    }
  }
  return found
}

/** The shortest cycle through any of the members. */
function shortestCycle(
  edges: ReadonlyMap<number, readonly Edge[]>,
  members: ReadonlySet<number>,
): readonly { from: number; edge: Edge }[] {
  let shortest: { from: number; edge: Edge }[] | undefined
  for (const start of [...members].slice(0, 50)) {
    const cameBy = new Map<number, { from: number; edge: Edge }>()
    const queue = [start]
    for (let at = 0; at < queue.length && !cameBy.has(start); at++) {
      const from = queue[at]!
      for (const edge of edges.get(from) ?? []) {
        if (!members.has(edge.to) || cameBy.has(edge.to)) continue
        cameBy.set(edge.to, { from, edge })
        queue.push(edge.to)
      }
    }
    const cycle: { from: number; edge: Edge }[] = []
    for (let step = cameBy.get(start); step; step = step.from === start ? undefined : cameBy.get(step.from)) {
      cycle.unshift(step)
    }
    if (shortest === undefined || cycle.length < shortest.length) shortest = cycle
  }
  return shortest ?? []
}
