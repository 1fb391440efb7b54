/** Parses `/metrics`: the figures of all workers, by name and labels. */

export interface Figure {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-z_]+)="([^"]*)"/g

export function parseMetrics(text: string): readonly Figure[] {
  return text.split('\n').flatMap(line => {
    const [, name, labels = '', value] = LINE.exec(line) ?? []
    if (name === undefined) return []
    return [
      {
        name,
        labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, key, text]) => [key, text])),
        value: Number(value),
      },
    ]
  })
}

/** The sum over all labels for which `fits` returns true. */
export function total(
  figures: readonly Figure[],
  name: string,
  fits: (labels: Figure['labels']) => boolean = () => true,
): number {
  return figures.reduce((sum, figure) => (figure.name === name && fits(figure.labels) ? sum + figure.value : sum), 0)
}

export interface WayReads {
  /** The name of a cache, or `direct`, `unnamed`, `other`. */
  readonly via: string
  readonly reads: number
  /** How many of these were answered 304. */
  readonly unchanged: number
}

/** The caches that asked for data, the one with the most reads first; those without reads are left out. */
export function readsByWay(figures: readonly Figure[]): readonly WayReads[] {
  const name = 'freshet_fetches_total'
  const vias = new Set(figures.flatMap(figure => (figure.name === name ? [figure.labels.via ?? ''] : [])))
  return [...vias]
    .map(via => ({
      via,
      reads: total(figures, name, labels => labels.via === via),
      unchanged: total(figures, name, labels => labels.via === via && labels.status === '304'),
    }))
    .filter(({ reads }) => reads > 0)
    .sort((a, b) => b.reads - a.reads)
}

/** Whether these are requests of readers and writers, not those for pages and figures, such as the console's own. */
export function isOfClients({ route = '' }: Figure['labels']): boolean {
  return /^\/(?:db|commit|coherence|sql|global)/.test(route)
}

/** The time below which this share of the requests between two readings stayed, in ms; undefined without requests. */
export function latencyMs(before: readonly Figure[], now: readonly Figure[], share: number): number | undefined {
  const counts = new Map<number, number>()
  const note = (figures: readonly Figure[], sign: 1 | -1) => {
    for (const { name, labels, value } of figures) {
      if (name !== 'freshet_request_seconds_bucket' || !isOfClients(labels) || labels.route === '/coherence/events')
        continue
      const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
      counts.set(bound, (counts.get(bound) ?? 0) + sign * value)
    }
  }
  note(now, 1)
  note(before, -1)
  const bounds = [...counts.keys()].sort((a, b) => a - b)
  const all = counts.get(Number.POSITIVE_INFINITY) ?? 0
  if (all <= 0) return undefined
  const bound = bounds.find(bound => counts.get(bound)! >= share * all)
  return bound === undefined || bound === Number.POSITIVE_INFINITY ? undefined : bound * 1000
}
