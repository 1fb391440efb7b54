/** The indexes that the rules of a file need, so that lists and queries find the rows that a caller may see (`demands.ts`). */
import type { IndexDeclaration } from '@freshet/protocol'
import { fieldsFor, indexFor, isOfIds } from './demands.js'
import type { BucketRules, ParsedRules } from './parse-rules.js'

export interface IndexesOfBucket {
  /** As the file names it: `shop/orders`, or with `*` for any name. */
  readonly bucket: string
  readonly indexes: readonly IndexDeclaration[]
  /** Whether indexes, or ranges of ids, can serve each of the bucket's rules. */
  readonly areEnough: boolean
}

/** One entry for each bucket of which some callers see only some rows. */
export function indexesFor({ buckets }: ParsedRules): readonly IndexesOfBucket[] {
  return buckets.map(indexesOf).filter(({ indexes, areEnough }) => indexes.length > 0 || !areEnough)
}

function indexesOf({ namespace, bucket, rules }: BucketRules): IndexesOfBucket {
  const reads = rules.filter(({ right }) => right === 'read').map(({ condition }) => condition)
  const isOpen = reads.some(({ whenAnonymous }) => whenAnonymous === true)
  const scope = { claims: undefined, isAnyCaller: true, namespace, bucket, id: undefined }
  const demands = isOpen ? [] : reads.map(condition => condition.demands(scope))
  const branches = demands.flatMap(branches => branches ?? []).filter(branch => !isOfIds(branch))
  const found = new Map(branches.filter(fieldsFor).map(branch => [fieldsFor(branch)!.join(), indexFor(branch)]))
  return {
    bucket: `${namespace ?? '*'}/${bucket ?? '*'}`,
    indexes: [...found.values()],
    areEnough: demands.every(branches => branches !== undefined) && branches.every(fieldsFor),
  }
}
