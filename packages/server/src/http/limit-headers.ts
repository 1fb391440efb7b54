/** The headers that report a request's remaining limits, as in draft-ietf-httpapi-ratelimit-headers. */
/** What is left of one limit. */
export interface LimitLeft {
  readonly policy: string
  readonly quota: number
  readonly windowS: number
  readonly remaining: number
  /** When the whole limit is available again. */
  readonly resetS: number
}

/** Only for answers that no cache may keep, since the remaining limits belong to the caller alone. */
export function limitHeaders(limits: readonly LimitLeft[]): readonly string[] {
  if (limits.length === 0) return []
  return [
    ...[
      'RateLimit',
      limits.map(({ policy, remaining, resetS }) => `"${policy}";r=${remaining};t=${resetS}`).join(', '),
    ],
    ...[
      'RateLimit-Policy',
      limits.map(({ policy, quota, windowS }) => `"${policy}";q=${quota};w=${windowS}`).join(', '),
    ],
  ]
}
