/**
 * What new rules allow that the old rules did not, so that nothing is opened by mistake.
 *
 * The comparison errs on the safe side. It never misses a widening: where it reports none, each way in which a new condition
 * can hold (`Condition.ways`) contains a way in which one of the old conditions held. It may report a change that is not wider:
 * it takes `claim.age > 21` after `claim.age > 18` for a different condition.
 */
import type { Condition, Way } from './condition.js'
import type { BucketRules, ParsedRules } from './parse-rules.js'
import { RIGHTS, type Right } from './rights.js'

export interface Widening {
  /** `shop/orders`, `shop/*`; or `admin`, `metrics`, `wall`. */
  readonly what: string
  /** For a bucket. */
  readonly rights?: readonly Right[]
}

/** Undefined: everybody may do everything. */
export function wideningsOf(before: ParsedRules | undefined, after: ParsedRules | undefined): readonly Widening[] {
  if (before === undefined) return []
  if (after === undefined) return [{ what: 'admin' }, { what: 'metrics' }, { what: '*/*', rights: RIGHTS }]
  return [
    ...(areWider(before.admin, after.admin) ? [{ what: 'admin' }] : []),
    ...(areWider(before.metrics, after.metrics) ? [{ what: 'metrics' }] : []),
    ...(isWallLower(before.wall, after.wall) ? [{ what: 'wall' }] : []),
    ...bucketsWidened(before, after),
  ]
}

function isWallLower(before: ParsedRules['wall'], after: ParsedRules['wall']): boolean {
  return before !== undefined && JSON.stringify(before) !== JSON.stringify(after)
}

/** Checks each name that either set of rules has, and `*` for any other name. */
function bucketsWidened(before: ParsedRules, after: ParsedRules): readonly Widening[] {
  const sections = [...before.buckets, ...after.buckets]
  const namespaces = new Set(['*', ...sections.map(({ namespace }) => namespace ?? '*')])
  const buckets = new Set(['*', ...sections.map(({ bucket }) => bucket ?? '*')])
  const widened: { readonly what: string; readonly rights: readonly Right[] }[] = []
  for (const namespace of namespaces) {
    for (const bucket of buckets) {
      // A widening that is reported for `shop/*` is not repeated for each bucket there.
      const reported = [`*/*`, `${namespace}/*`, `*/${bucket}`].flatMap(
        general => widened.find(({ what }) => what === general)?.rights ?? [],
      )
      const rights = RIGHTS.filter(
        right =>
          !reported.includes(right) &&
          areWider(conditionsOf(before, namespace, bucket, right), conditionsOf(after, namespace, bucket, right)),
      )
      if (rights.length > 0) widened.push({ what: `${namespace}/${bucket}`, rights })
    }
  }
  return widened
}

function conditionsOf(rules: ParsedRules, namespace: string, bucket: string, right: Right): readonly Condition[] {
  const fits = (each: BucketRules) => (each.namespace ?? namespace) === namespace && (each.bucket ?? bucket) === bucket
  return rules.buckets
    .filter(fits)
    .flatMap(each => each.rules.filter(rule => rule.right === right).map(rule => rule.condition))
}

function areWider(before: readonly Condition[], after: readonly Condition[]): boolean {
  const old = before.flatMap(({ ways }) => ways)
  return after.some(({ ways }) => ways.some(way => !old.some(each => contains(way, each))))
}

function contains(way: Way, part: Way): boolean {
  return [...part].every(text => way.has(text))
}
