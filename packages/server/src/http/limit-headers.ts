/** What a request has left of its limits, as draft-ietf-httpapi-ratelimit-headers spells it. */
/** What a request has left of one limit. */
export interface LimitLeft {
  readonly policy: string
  readonly quota: number
  readonly windowS: number
  readonly remaining: number
  /** When all of it is there again. */
  readonly resetS: number
}

/** For answers that no cache may keep: what is left is the business of who asked alone. */
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
