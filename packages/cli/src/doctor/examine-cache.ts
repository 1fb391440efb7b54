/** The examination that a server makes of one of its caches. */
import type { DoctorTask } from '@freshet/server'
import { countOf, type Examination, PROBES } from './examine.js'
import { examineThrough } from './examine-through.js'

export interface CacheReport extends Examination {
  readonly through: string
  readonly isSafe: boolean
  readonly counts: ReturnType<typeof countOf>
  /** The probe objects and buckets that could not be removed. */
  readonly left: readonly string[]
}

export async function examineCache({
  through,
  server,
  purgeSecret,
  token,
  signal,
  onFinding,
}: DoctorTask): Promise<CacheReport> {
  const left: string[] = []
  const examination = await examineThrough({
    line: { through, server, purgeSecret, token, bucket: undefined },
    signal,
    onFound: finding => onFinding(finding, PROBES.length),
    onLeft: text => left.push(text),
  })
  const counts = countOf(examination.findings)
  return { through, isSafe: counts.fatal + counts.unsafe === 0, counts, ...examination, left }
}
