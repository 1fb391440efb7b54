/** Chooses the bucket that a page shows: all buckets, as links. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { linkTo } from '../route.js'
import { knownBuckets, loadBuckets, type NamedBucket } from '../server/server-facts.js'
import { token } from '../server/token.js'
import { Failure } from './notice.js'

export interface BucketChoiceProps {
  /** The page that the links lead to. */
  readonly page: string
  readonly chosen: string | undefined
  readonly kind?: NamedBucket['kind']
}

export function BucketChoice({ page, chosen, kind }: BucketChoiceProps): JSX.Element {
  const [failure, setFailure] = useState<unknown>()
  const who = token.value
  useEffect(() => {
    void who
    loadBuckets().then(() => setFailure(undefined), setFailure)
  }, [who])
  const buckets = knownBuckets.value?.filter(bucket => kind === undefined || bucket.kind === kind)
  if (failure !== undefined) return <Failure of={failure} />
  if (buckets === undefined) return <p class="quiet">Loading…</p>
  if (buckets.length === 0)
    return <p class="quiet">There is no bucket{kind === undefined ? '' : ` of kind ${kind}`} yet.</p>
  return (
    <ul class="buckets" aria-label="Buckets">
      {buckets.map(({ name, kind }) => (
        <li key={name}>
          <a href={linkTo(page, ...name.split('/'))} aria-current={name === chosen ? 'true' : undefined}>
            {name} {kind !== 'object' && <span class="quiet">{kind}</span>}
          </a>
        </li>
      ))}
    </ul>
  )
}
