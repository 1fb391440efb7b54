/** Where a shard is, and by what name. */
export interface ShardAddress {
  /** `mariadb://user:password@host/database` or `postgres://...` */
  readonly url: string
  /** For messages: without the password. */
  readonly place: string
  readonly sessionsMax: number
}
